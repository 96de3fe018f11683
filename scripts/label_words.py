"""Make the shipped example ``label-words``: one of 176 label pairs and thresholds, chosen on 300.

    python scripts/label_words.py [FOLDER]

A toy of zero-shot classification, as in docs/howto/selection.md: a text is a vector near the word
of its class, and each candidate compares its similarities to two label words with a threshold. The
list, the scores of all candidates and the certificate are functions of this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dudley.certificates.methods.selection.candidates import CandidateFactor, CandidateList
from dudley.certificates.methods.selection.method import Selection
from dudley.certificates.methods.selection.outcomes import Outcomes
from dudley.cli.folder import CANDIDATES, CERTIFICATE, OUTCOMES, keep
from dudley.networks.files import EXAMPLES

NEGATIVE, POSITIVE = ("bad", "poor", "awful", "sad"), ("good", "great", "fine", "glad")
THRESHOLDS = tuple(f"{t:g}" for t in np.linspace(-0.5, 0.5, 11))
LISTED = CandidateList(
    (
        CandidateFactor("negative", NEGATIVE),
        CandidateFactor("positive", POSITIVE),
        CandidateFactor("threshold", THRESHOLDS),
    )
)


def outcomes(n: int = 300, seed: int = 0) -> Outcomes:
    """Labels, and the scores of all pairs of words."""
    rng = np.random.default_rng(seed)
    words = {word: rng.standard_normal(16) for word in NEGATIVE + POSITIVE}
    y = rng.integers(0, 2, n)
    texts = 0.7 * rng.standard_normal((n, 16))
    texts += np.where(y[:, None] == 1, words["great"], words["awful"])
    pairs = [(words[b] - words[a]) / 16 for a in NEGATIVE for b in POSITIVE]
    scores = (texts[:, None, :] * np.array(pairs)).sum(2)  # one sum a number: the same everywhere
    return Outcomes(y, scores=scores.astype(np.float32))


def make(folder: Path) -> None:
    """Choose, certify, write."""
    data = outcomes()
    certificate = Selection()(LISTED, data, candidates=LISTED.sha256)
    folder.mkdir(parents=True, exist_ok=True)
    LISTED.save(folder / CANDIDATES)
    data.save(folder / OUTCOMES)
    keep(certificate, folder / CERTIFICATE)
    print(certificate.facts, certificate.value)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES / "label-words")

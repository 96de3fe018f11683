"""Write the shipped example ``reviews``: outcomes of two made-up classifiers on 2,000 texts.

    python scripts/reviews.py

Nothing in it is real: languages, labels, scores and errors are drawn by a seeded generator. The new
model's score says how sure it is, and it errs less where it is surer; in two languages with few
texts it errs more often; the old model errs more often everywhere.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

LANGUAGES = {"English": 1000, "German": 500, "French": 300, "Finnish": 150, "Icelandic": 50}
HARDER = {"Finnish": 2.0, "Icelandic": 2.5}
LABELS = np.array(["negative", "positive"])
FILE = Path(__file__).resolve().parents[1] / "src/dudley/examples/reviews/outcomes.csv"


def rows(seed: int = 0) -> list[tuple[str, ...]]:
    """id, language, y, prediction, old, score."""
    rng = np.random.default_rng(seed)
    language = rng.permutation(np.repeat(list(LANGUAGES), list(LANGUAGES.values())))
    harder = np.array([HARDER.get(name, 1.0) for name in language])
    y, u = rng.integers(0, 2, len(language)), rng.random(len(language))
    score = 1 - 0.5 * u**2  # between 1/2 and 1
    wrong = rng.random(len(y)) < harder * 0.3 * (1 - score)
    old_wrong = np.where(wrong, rng.random(len(y)) < 0.75, rng.random(len(y)) < 0.04 * harder)
    return [
        (f"r{i:04d}", *map(str, row), f"{s:.3f}")
        for i, (*row, s) in enumerate(
            zip(language, LABELS[y], LABELS[y ^ wrong], LABELS[y ^ old_wrong], score, strict=True)
        )
    ]


def main() -> None:
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", "language", "y", "prediction", "old", "score"))
        writer.writerows(rows())


if __name__ == "__main__":
    main()

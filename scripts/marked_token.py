"""Make the shipped example ``marked-token``: a head that cannot do without attention.

    python scripts/marked_token.py [FOLDER]

An example has eight tokens of four numbers: a mark, a value, and two that say nothing. One token is
marked (1, the others 0), every value is 1 or −1, and the label is the value of the marked token.
What a head reads of a token is linear, so without scores it only sees the sum of all values, and
errs on 93 of 256 examples at best: with seven fair signs beside the label, it is wrong on a sum of
0 or of the other sign. The certified head has a score for the mark.

The model, the data and the certificate are functions of this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dudley.certificates.base import METHODS
from dudley.certificates.data import Dataset
from dudley.certificates.fit import heads, sparse
from dudley.cli.folder import keep_all
from dudley.networks.files import EXAMPLES

T, N, SEED = 8, 2000, 0
ENCODING = {"name": "rows", "T": T, "d": 4, "R": 2.0}


def examples(n: int, seed: int) -> Dataset:
    """Tokens and the value of the marked one."""
    rng = np.random.default_rng(seed)
    X = rng.choice(np.array([-1, 1], np.int8), (n, T, 4))
    place = rng.integers(0, T, n)
    X[:, :, 0] = np.arange(T) == place[:, None]
    return Dataset(X, (X[np.arange(n), place, 1] > 0).astype(np.int64))


def make(folder: Path) -> None:
    """Train, certify, write."""
    data = examples(N, SEED)
    model = sparse.fit_sparse(
        heads.tables(ENCODING), ENCODING, data, SEED, foldings=[{"0.v": "plain", "0.W_v": "plain"}]
    )
    certificate = METHODS["occam"](model, data)
    keep_all(model, data, certificate, folder)
    print({name: W.ravel().tolist() for name, W in model.weights.items()})
    print(certificate.facts.bits, "bits,", certificate.facts.errors, "errors:", certificate.value)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES / "marked-token")

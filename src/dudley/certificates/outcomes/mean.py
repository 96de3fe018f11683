"""The mean of losses, from above: exact for errors, by betting for other losses.

Claim. For n independent draws with losses in [0, 1] of mean μ, the bound at δ′ is below μ with
probability at most δ′. For errors (losses 0 and 1, by what was handed over) it is Clopper and
Pearson's, else that by betting, in an order that is a function of a declared seed and of the bag of
losses (`dudley.certificates.order`). Which of the two is used does not depend on the values. Proofs
stand where the intervals do (`dudley.certificates.methods.hold_out.intervals`). A lower bound is 1
less the upper bound of what the losses lack to 1 (`question`).

>>> errors = np.array([1.0] * 3 + [0.0] * 97)
>>> round(mean_upper(errors, 3.0, True), 4), round(mean_upper(errors, 3.0, False), 4)
(0.0758, 0.1083)
"""

from __future__ import annotations

import numpy as np

from dudley.certificates import order
from dudley.certificates.inversion import binomial_upper
from dudley.certificates.methods.hold_out.interval import upper


def mean_upper(losses: np.ndarray, c: float, binary: bool, seed: int = 0) -> float:
    """The upper bound at δ′ = e^{−c}; 1 without any row."""
    if len(losses) == 0:
        return 1.0
    if binary:
        return binomial_upper(int(losses.sum()), len(losses), c)
    return upper("betting", in_order(losses, seed), c)


def in_order(losses: np.ndarray, seed: int) -> np.ndarray:
    """The losses in an order that no file can choose."""
    return np.sort(losses)[order.permutation(f"order of outcomes {seed}", len(losses))]

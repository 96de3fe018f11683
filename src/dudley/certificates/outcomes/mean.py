"""The mean of losses, from above: exact for errors, by fixed bets for other losses.

Claim. For n independent draws with losses in [0, 1] of mean μ, the bound at δ′ is below μ with
probability at most δ′. For errors (losses 0 and 1, by what was handed over) it is Clopper and
Pearson's. For others it is that of fixed bets, which has its proof in
`dudley.certificates.methods.hold_out.intervals.fixed_bets` and treats all rows alike: a table has
no order that is independent of its rows.

Which of the two is used does not depend on the values. A lower bound is 1 less the upper bound of
what the losses lack to 1 (`question`).

>>> errors = np.array([1.0] * 3 + [0.0] * 97)
>>> round(mean_upper(errors, 3.0, True), 4), round(mean_upper(errors, 3.0, False), 4)
(0.0758, 0.1073)
"""

from __future__ import annotations

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.methods.hold_out.intervals.fixed_bets import bets_for, fixed_bets


def mean_upper(losses: np.ndarray, c: float, binary: bool) -> float:
    """The upper bound at δ′ = e^{−c}; 1 without any row."""
    if len(losses) == 0:
        return 1.0
    if binary:
        return binomial_upper(int(losses.sum()), len(losses), c)
    return fixed_bets(losses, c)


def proves_below(losses: np.ndarray, c: float, level: float, count: int) -> bool:
    """Would so many rows with the same shares of losses prove that the mean is below the level?

    Without the care for rounding of `mean_upper`: this is for a plan.
    """
    bets = bets_for(count, c)
    values, times = np.unique(losses, return_counts=True)
    row = np.log1p(-np.multiply.outer(bets.bets, values)) @ (times / len(losses))
    exponents = np.log(bets.weights) + count * (row - np.log1p(-bets.bets * level))
    return bool(np.logaddexp.reduce(exponents) >= c)

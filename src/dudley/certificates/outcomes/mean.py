"""The mean of losses, from above: exact for errors, by fixed bets for other losses.

Claim. For n independent draws with losses in [0, 1] of mean μ, the bound at δ′ is below μ with
probability at most δ′. For errors (losses 0 and 1, by what was handed over) it is Clopper and
Pearson's. For others it is the form ``mixture`` of fixed bets θ_j with weights w_j
(`dudley.certificates.methods.prequential.forms.mixture`), the least p with

    Σ_j w_j Π_i (1 − θ_j z_i)/(1 − θ_j p) ≥ 1/δ′.

Which of the two is used does not depend on the values. A lower bound is 1 less the upper bound of
what the losses lack to 1 (`question`).

**No order.** A bet that learns from the rows before it needs rows in an order that nobody chose,
and a table has none: sorted losses in the order of one fixed seed are no independent draws. Of 200
losses 0 and 1, for one such order, a bound at δ′ = .05 by bets that learn lay below the mean in 58
of 100 tables. Fixed bets treat all rows alike.

**Which bets.** The best one is near √(2c/(n·variance)), and no loss in [0, 1] has a variance above
1/4. So bets below √(8c/n) are left out, or below 1/2 for few rows: a function of n and c alone.

>>> errors = np.array([1.0] * 3 + [0.0] * 97)
>>> round(mean_upper(errors, 3.0, True), 4), round(mean_upper(errors, 3.0, False), 4)
(0.0758, 0.1073)
"""

from __future__ import annotations

import math

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.methods.prequential.forms.mixture import MixtureTally


def mean_upper(losses: np.ndarray, c: float, binary: bool) -> float:
    """The upper bound at δ′ = e^{−c}; 1 without any row."""
    if len(losses) == 0:
        return 1.0
    if binary:
        return binomial_upper(int(losses.sum()), len(losses), c)
    tally = fixed_bets(len(losses), c)
    tally.add(np.sort(losses))  # sums are rounded, so that they have an order after all
    return tally.upper(c)


def fixed_bets(n: int, c: float) -> MixtureTally:
    """The bets for n rows, before the first one."""
    return MixtureTally(min(0.5, math.sqrt(8 * c / n)))


def proves_below(losses: np.ndarray, c: float, level: float, count: int) -> bool:
    """Would so many rows with the same shares of losses prove that the mean is below the level?

    Without the care for rounding of `mean_upper`: this is for a plan.
    """
    bets = fixed_bets(count, c)
    values, times = np.unique(losses, return_counts=True)
    row = np.log1p(-np.multiply.outer(bets.bets, values)) @ (times / len(losses))
    exponents = np.log(bets.weights) + count * (row - np.log1p(-bets.bets * level))
    return bool(np.logaddexp.reduce(exponents) >= c)

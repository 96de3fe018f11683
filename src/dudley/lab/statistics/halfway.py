"""Where a logistic curve through the cells of a column is ½: the sharp answer, if the curve is one.

    logit p = b (log m − log m½)

is fitted to all trials of a column. Cells that were chosen by earlier outcomes need no correction:
given the past, a trial's outcome depends on its cell alone, so the likelihood is the same product.
The standard error of log m½ is the delta method's, wider by the root of the dispersion where that
exceeds 1. Unlike `crossing`, it is no more right than the logistic shape, which the deviance
against a free rate in every cell tests (by χ², roughly where cells have few trials).

`half_success` adds a profile interval: it is what is plotted, and where the rates stay below ½ on
the whole grid it is a censored estimate, the curve's continuation beyond the grid.

>>> import numpy as np
>>> m = np.arange(50, 201, 10)
>>> p = 1 / (1 + (100 / m) ** 8)
>>> curve = halfway(m, np.round(1000 * p), np.full(16, 1000))
>>> round(curve.m), round(curve.error, 3)
(100, 0.004)
>>> half = half_success(m, np.round(50 * p), np.full(16, 50))
>>> round(half.lowest), round(half.highest), half.beyond
(97, 103, False)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.lab.statistics.goodness import GoodnessOfFit, deviance, untested
from dudley.lab.statistics.logistic import fit, profile

REACH = 1.5  # logarithms beyond the grid that the interval is looked for in


@dataclass(frozen=True)
class Halfway:
    """m½, the standard error of log m½, the slope b, and the test of the curve.

    NaN where no rising curve fits.
    """

    m: float
    error: float
    b: float
    goodness: GoodnessOfFit


@dataclass(frozen=True)
class HalfSuccess:
    """m½ with its profile interval, whose ends may be 0 and infinity.

    ``beyond``: it lies outside of the m that were tried.
    """

    m: float
    lowest: float
    highest: float
    beyond: bool
    goodness: GoodnessOfFit


def halfway(m: Any, successes: Any, trials: Any) -> Halfway:
    """From the cells of one column; those without trials say nothing."""
    m, k, n = (np.asarray(v, dtype=float) for v in (m, successes, trials))
    seen = n > 0
    if k.sum() in (0, n.sum()):
        return Halfway(np.nan, np.nan, np.nan, untested("one outcome alone"))
    middle = np.log(m).mean()
    X = np.stack([np.ones(seen.sum()), np.log(m[seen]) - middle], 1)
    fitted = fit(X, k[seen], n[seen])
    a, b = fitted.beta
    law, degrees = -fitted.deviance / 2, int(seen.sum()) - 2
    goodness = deviance(0.0, law, degrees, "a free rate in every cell")
    if not b > 0:
        return Halfway(np.nan, np.nan, float(b), goodness)
    slope = np.array([-1 / b, a / b**2])
    error = np.sqrt(slope @ fitted.covariance @ slope * max(1.0, fitted.dispersion))
    return Halfway(float(np.exp(middle - a / b)), float(error), float(b), goodness)


def half_success(m: Any, successes: Any, trials: Any, level: float = 0.95) -> HalfSuccess:
    """From the cells of one column, with the profile interval of log m½."""
    m, k, n = (np.asarray(v, dtype=float) for v in (m, successes, trials))
    m, k, n = m[n > 0], k[n > 0], n[n > 0]
    curve = halfway(m, k, n)
    if not np.isfinite(curve.m):  # nothing but successes lies below the grid, failures above
        low, high = (0.0, float(m.min())) if k.sum() == n.sum() else (float(m.max()), np.inf)
        if 0 < k.sum() < n.sum():
            low, high = 0.0, np.inf
        return HalfSuccess(np.nan, low, high, True, curve.goodness)

    def best_at(log_half: float) -> float:
        rising = fit((np.log(m) - log_half)[:, None], k, n)
        return rising.likelihood if rising.beta[0] > 0 else -np.inf

    ends = min(np.log(m[0]), np.log(curve.m)) - REACH, max(np.log(m[-1]), np.log(curve.m)) + REACH
    X = np.stack([np.ones_like(m), np.log(m)], 1)
    interval = profile(best_at, *ends, level, fit(X, k, n).dispersion)
    beyond = not m[0] <= curve.m <= m[-1]
    low, high = np.exp([interval.lowest, interval.highest])
    return HalfSuccess(curve.m, float(low), float(high), beyond, curve.goodness)

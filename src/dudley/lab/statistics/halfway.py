"""Where a logistic curve through the cells of a column is ½: the sharp answer, if the curve is one.

    logit p = b (log m − log m½)

is fitted to all trials of a column. Cells that were chosen by earlier outcomes need no correction:
given the past, a trial's outcome depends on its cell alone, so the likelihood is the same product.
The standard error of log m½ is the delta method's, wider by the root of the dispersion where that
exceeds 1. Unlike `crossing`, it is no more right than the logistic shape.

>>> import numpy as np
>>> m = np.arange(50, 201, 10)
>>> p = 1 / (1 + (100 / m) ** 8)
>>> crossing = halfway(m, np.round(1000 * p), np.full(16, 1000))
>>> round(crossing.m), round(crossing.error, 3)
(100, 0.004)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.lab.statistics.logistic import fit


@dataclass(frozen=True)
class Halfway:
    """m½, the standard error of log m½, and the slope b; NaN where no rising curve fits."""

    m: float
    error: float
    b: float


def halfway(m: Any, successes: Any, trials: Any) -> Halfway:
    """From the cells of one column; those without trials say nothing."""
    m, k, n = (np.asarray(v, dtype=float) for v in (m, successes, trials))
    seen = n > 0
    if k.sum() in (0, n.sum()):
        return Halfway(np.nan, np.nan, np.nan)
    middle = np.log(m).mean()
    X = np.stack([np.ones(seen.sum()), np.log(m[seen]) - middle], 1)
    fitted = fit(X, k[seen], n[seen])
    a, b = fitted.beta
    if not b > 0:
        return Halfway(np.nan, np.nan, float(b))
    slope = np.array([-1 / b, a / b**2])
    error = np.sqrt(slope @ fitted.covariance @ slope * max(1.0, fitted.dispersion))
    return Halfway(float(np.exp(middle - a / b)), float(error), float(b))

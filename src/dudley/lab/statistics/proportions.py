"""Intervals of a success rate: Wilson's, and Clopper and Pearson's.

Wilson's inverts the normal test of p and is short; Clopper and Pearson's inverts the exact
binomial test and covers p with at least the level, whatever p is.

    Wilson:  (p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n)

Brown, Cai and DasGupta (2001), Interval estimation for a binomial proportion.

>>> wilson(25, 50)
(0.3664..., 0.6335...)
>>> clopper_pearson(0, 50)                      # 1 − .025^(1/50)
(0.0, 0.0711...)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import beta, norm

from dudley.core.errors import InputError


def wilson(successes: Any, trials: Any, level: float = 0.95) -> Any:
    """The interval (lowest, highest); arrays are taken entry by entry."""
    k, n = _counts(successes, trials)
    z = norm.ppf(0.5 + level / 2)
    p, shrink = k / n, 1 + z**2 / n
    middle, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    lowest = np.where(k == 0, 0.0, (middle - half) / shrink)
    return _pair(lowest, np.where(k == n, 1.0, (middle + half) / shrink))


def clopper_pearson(successes: Any, trials: Any, level: float = 0.95) -> Any:
    """The exact interval (lowest, highest); arrays are taken entry by entry."""
    k, n = _counts(successes, trials)
    tail = (1 - level) / 2
    lowest = np.where(k == 0, 0.0, beta.ppf(tail, np.maximum(k, 0.5), n - k + 1))
    highest = np.where(k == n, 1.0, beta.ppf(1 - tail, k + 1, np.maximum(n - k, 0.5)))
    return _pair(lowest, highest)


def _counts(successes, trials) -> tuple[np.ndarray, np.ndarray]:
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    if not (np.all(n > 0) and np.all((k >= 0) & (k <= n))):
        raise InputError("successes and trials", "0 ≤ successes ≤ trials, some trials", (k, n))
    return k, n


def _pair(lowest: np.ndarray, highest: np.ndarray) -> Any:
    if lowest.ndim == 0:
        return float(lowest), float(highest)
    return lowest, highest

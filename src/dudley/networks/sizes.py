"""Sample sizes by their logs, and the first at which a gap is small enough."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dudley.core.errors import InputError


def log_sizes(n: ArrayLike) -> np.ndarray:
    """log n for one or many sample sizes, which must be finite and at least 1."""
    n = np.atleast_1d(np.asarray(n, dtype=float))
    if not (np.isfinite(n).all() and (n >= 1).all()):
        raise InputError("n", "finite numbers ≥ 1", n.tolist() if n.size < 5 else "an array")
    return np.log(n)


def log10_first(gaps: Callable[[np.ndarray], np.ndarray], target: float) -> float:
    """log₁₀ of the n from which a falling function of log n is at most the target."""
    low, high = 0.0, 64.0
    while gaps(np.array([high]))[0] > target:
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    while high - low > 1e-4:
        sizes = np.linspace(low, high, 17)
        below = np.flatnonzero(gaps(sizes) <= target)
        first = below[0] if below.size else len(sizes) - 1
        low, high = sizes[max(first - 1, 0)], sizes[first]
        if first == 0:
            break
    return float(high / math.log(10))

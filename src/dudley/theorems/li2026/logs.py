"""Logarithms of numbers that may be 0, exponentials that may leave the floats."""

from __future__ import annotations

import math


def log(*factors: float) -> float:
    """log of a product of numbers ≥ 0, −∞ at 0.

    >>> log(2.0, 0.5), log(3.0, 0.0)
    (0.0, -inf)
    """
    return math.fsum(map(math.log, factors)) if all(f > 0 for f in factors) else -math.inf


def exp(log_value: float) -> float:
    """e^u, infinite past the floats.

    >>> exp(0.0), exp(1e4)
    (1.0, inf)
    """
    return math.exp(log_value) if log_value < 709.7 else math.inf

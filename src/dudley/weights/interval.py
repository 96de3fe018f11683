"""A number between two floats, and the constants of rounding error analysis.

u = 2⁻⁵³ is the unit roundoff of float64. In a sum of products where every term passes through at
most k roundings, the error is at most γ_k = k·u/(1 − k·u) times the sum of the absolute terms,
**whatever the order of the additions and with or without fused multiply-add** (Higham, *Accuracy
and Stability of Numerical Algorithms*, 2nd ed., section 3.1): the same bound serves a loop, a
blocked library on any number of threads, and a GPU. It does not serve Strassen-like products or
products emulated in lower precision; neither torch, MKL, OpenBLAS nor cuBLAS uses one for float64
unless asked to.

>>> γ(1) > 2.0**-53
True
>>> Interval(1.0, 2.0).contains(1.5)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.errors import InputError

U = 2.0**-53
LARGEST = math.nextafter(math.inf, 0.0)
_MOST = 2**31  # γ's closed form below


def γ(k: int) -> float:
    """γ_k, rounded up; it also covers what underflow loses (see ``entries``).

    For k ≤ 2³¹, k·u/(1 − k·u) ≤ k·u·(1 + 2⁻²¹); the factor here is 1 + 2⁻²⁰.
    """
    if k > _MOST:
        raise InputError("length of a sum", f"at most {_MOST} terms", k)
    return k * U * (1 + 2.0**-20)


@dataclass(frozen=True)
class Interval:
    """lower ≤ x ≤ upper, both certain."""

    lower: float
    upper: float

    def __post_init__(self):
        if not self.lower <= self.upper:
            raise ArithmeticError(f"an interval with ends {self.lower!r} > {self.upper!r}")

    def contains(self, x: float) -> bool:
        """Whether x lies between the ends."""
        return self.lower <= x <= self.upper

    @property
    def excess(self) -> float:
        """upper/lower − 1: at least the relative distance of the upper end from the truth."""
        if self.lower == 0:
            return 0.0 if self.upper == 0 else math.inf
        return self.upper / self.lower - 1

    def shifted(self, e: int) -> Interval:
        """The interval times 2^e, rounded outward where that leaves the normal floats."""
        return Interval(shift_down(self.lower, e), shift_up(self.upper, e))


ZERO = Interval(0.0, 0.0)


def shift_up(x: float, e: int) -> float:
    """A float at or above x·2^e, for x ≥ 0: infinity where no finite float is.

    >>> shift_up(0.75, -1074), shift_up(0.75, 1025)
    (1e-323, inf)
    """
    try:
        y = math.ldexp(x, e)
    except OverflowError:
        return math.inf
    return y if y >= 2.0**-1021 or x == 0 or math.isinf(x) else math.nextafter(y, math.inf)


def shift_down(x: float, e: int) -> float:
    """A float at or below x·2^e, for x ≥ 0: the largest finite one where that overflows.

    >>> shift_down(0.75, -1074), shift_down(0.75, 1025) == LARGEST
    (0.0, True)
    """
    try:
        y = math.ldexp(x, e)
    except OverflowError:
        return LARGEST
    return y if y >= 2.0**-1021 else max(0.0, math.nextafter(y, -math.inf))

"""Outward rounding: integer parts exact up to 2^53, certified from above beyond.

A float64 result of a handful of correctly rounded operations is within a few units in the last
place of the truth. Whatever must not undershoot is pushed up by more than that; whatever must be
an exact integer part is settled with rational arithmetic where the float cannot tell.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

EXACT = 2.0**53
Real = TypeVar("Real", bound=Any)  # a number or an array of numbers
_ULP = 2.0**-52
_NORMAL = 1e-290  # below, products of floats lose relative accuracy
_HUGE = 10**308


def up(x: Real, ulps: int = 4) -> Real:
    """A float at or above the true value of ``x``, if ``x`` is within ``ulps`` units of it.

    >>> up(1.0) > 1.0, up(0.0)
    (True, 0.0)
    """
    return x + abs(x) * (ulps * _ULP)


def down(x: Real, ulps: int = 4) -> Real:
    """A float at or below the true value of ``x``, if ``x`` is within ``ulps`` units of it."""
    return x - abs(x) * (ulps * _ULP)


def outward(x: float) -> float:
    """A number at or above what x was before a few roundings; 0 stays."""
    return 0.0 if x == 0 else math.nextafter(float(up(x)), math.inf)


def exp_up(u: ArrayLike) -> np.ndarray:
    """A float at or above e^u (infinity where that is not a finite float; u within one ulp)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(u == -np.inf, 0.0, np.exp(u) * (1 + (4 + np.abs(u)) * _ULP))


def ceil_power_ratio(
    factors: tuple[float, ...], ε: ArrayLike, power: int, times: float = 1.0
) -> Any:
    """⌈times · (∏ factors / ε)^power⌉, exact for results up to 2^53, an upper bound beyond.

    The inputs are taken as the rational numbers that the floats are; ``ε`` may be an array.

    >>> ceil_power_ratio((1.0,), 0.5, 2), ceil_power_ratio((1.0,), 0.1, 2)
    (4.0, 100.0)
    >>> ceil_power_ratio((0.3,), 0.1, 1)      # the float 0.3 is less than three floats 0.1
    3.0
    """
    flat, product = np.ravel(np.asarray(ε, dtype=float)), math.prod(factors)
    with np.errstate(over="ignore", invalid="ignore"):
        guess = times * (product / flat) ** power
        low, high = np.ceil(down(guess, 16)), np.ceil(up(guess, 16))
        result = np.where(guess < EXACT, low, up(guess, 16))
    coarse = (guess < _NORMAL) | (flat < _NORMAL) | (product < _NORMAL)  # floats lose digits there
    for i in np.flatnonzero(((low != high) & (guess < EXACT)) | coarse):
        exact = math.prod(map(Fraction, factors)) / Fraction(float(flat[i]))
        whole = math.ceil(Fraction(times) * exact**power)
        result[i] = math.inf if whole >= _HUGE else whole if whole <= EXACT else up(float(whole))
    return result.reshape(np.shape(ε)) if np.ndim(ε) else float(result[0])


def ceiling(x: float | Decimal, digits: int = 4) -> str:
    """A number of few digits that is not below x: what is called an upper end stays one.

    >>> ceiling(2.00001), ceiling(123456.0), ceiling(0.0)
    ('2.001', '1.235e+05', '0')
    """
    return _few(x, digits, ROUND_CEILING)


def floor(x: float | Decimal, digits: int = 4) -> str:
    """A number of few digits that is not above x.

    >>> floor(2.99999), floor(0.474877, 3)
    ('2.999', '0.474')
    """
    return _few(x, digits, ROUND_FLOOR)


def _few(x: float | Decimal, digits: int, rounding: str) -> str:
    if x == 0 or not math.isfinite(x):
        return f"{x:g}"
    exact = Decimal(x)
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(step, rounding)):.{digits}g}"

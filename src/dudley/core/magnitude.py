"""Non-negative numbers kept by their natural logarithm.

Ninety-six layers multiply Lipschitz constants past 10^1200, so every radius, Lipschitz constant
and sensitivity of the calculus is a :class:`Magnitude`: formulas read as in the papers
(``B_w * B_c * L_σ * R**2``) and nothing overflows. Infinity means *unknown*: it is always sound.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dudley.core.errors import InputError

Number = Any  # a magnitude, a number or an array of numbers, all ≥ 0


class Magnitude:
    """A number (or array of numbers) x ≥ 0, stored as log x.

    >>> (Magnitude.of(1e300) ** 4 * 2).log10
    1200.301...
    >>> float(Magnitude.of(3) + 4)
    7.0...
    """

    __slots__ = ("log",)
    __array_ufunc__ = None  # numpy hands mixed arithmetic to the methods below

    def __init__(self, log: Any) -> None:
        self.log = log

    @classmethod
    def of(cls, value: Number) -> Magnitude:
        """The magnitude of a number or array ≥ 0 (a magnitude is returned as it is)."""
        if isinstance(value, Magnitude):
            return value
        if type(value) is float and value >= 0:
            return cls(math.log(value) if value > 0 else -math.inf)
        if not np.all(np.greater_equal(value, 0)):  # NaN included: nothing may pass for zero
            raise InputError("magnitude", "numbers ≥ 0", value)
        if isinstance(value, np.ndarray):
            with np.errstate(divide="ignore"):
                return cls(np.log(value))
        return cls(math.log(value) if value > 0 else -math.inf)

    def __mul__(self, other: Number) -> Magnitude:
        mine, theirs = self.log, Magnitude.of(other).log
        if type(mine) is float and type(theirs) is float:
            total = mine + theirs
            return Magnitude(math.inf if total != total else total)
        with np.errstate(invalid="ignore", over="ignore"):
            total = mine + theirs
        if isinstance(total, np.ndarray):
            return Magnitude(np.where(np.isnan(total), math.inf, total))
        return Magnitude(math.inf if total != total else total)  # 0·∞ stays unknown

    def __truediv__(self, other: Number) -> Magnitude:
        return self * Magnitude(-Magnitude.of(other).log)

    def __rtruediv__(self, other: Number) -> Magnitude:
        return Magnitude.of(other) / self

    def __add__(self, other: Number) -> Magnitude:
        total = np.logaddexp(self.log, Magnitude.of(other).log)
        return Magnitude(total if isinstance(total, np.ndarray) else float(total))

    def __pow__(self, power: float) -> Magnitude:
        return Magnitude(self.log * power if power else np.zeros_like(self.log))

    __rmul__, __radd__ = __mul__, __add__

    def __le__(self, other: Number) -> bool:
        return bool(np.all(self.log <= Magnitude.of(other).log))

    def __lt__(self, other: Number) -> bool:
        return bool(np.all(self.log < Magnitude.of(other).log))

    def __float__(self) -> float:
        return math.exp(self.log) if self.log < 709.7 else math.inf

    @property
    def log10(self) -> Any:
        return self.log / math.log(10)

    def __repr__(self) -> str:
        return f"Magnitude(e^{self.log})"


ZERO, ONE, UNKNOWN = Magnitude(-math.inf), Magnitude(0.0), Magnitude(math.inf)


def largest(*values: Number) -> Magnitude:
    """The pointwise maximum."""
    return _reduce(np.maximum, values)


def smallest(*values: Number) -> Magnitude:
    """The pointwise minimum."""
    return _reduce(np.minimum, values)


def _reduce(ufunc: np.ufunc, values: tuple[Number, ...]) -> Magnitude:
    log = Magnitude.of(values[0]).log
    for value in values[1:]:
        log = ufunc(log, Magnitude.of(value).log)
    return Magnitude(log)


def sqrt(value: Number) -> Magnitude:
    """The square root of a number or magnitude."""
    return Magnitude.of(value) ** 0.5

"""A lower bound that is true: the currency of every attack."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.errors import InputError


@dataclass(frozen=True)
class LowerBound:
    """The quantity is at least ``value``: surely, or but for a chance δ of the attack's own draws.

    >>> print(LowerBound(0.25, "greedy packing of 220 members"))
    at least 0.25 (greedy packing of 220 members)
    >>> print(LowerBound(0.25, "32 sign draws", δ=1e-9))
    at least 0.25 (32 sign draws; wrong with probability at most 1e-09)
    """

    value: float
    method: str
    δ: float = 0.0

    def __post_init__(self) -> None:
        if math.isnan(self.value) or self.value == math.inf:
            raise InputError("lower bound", "a number below infinity", self.value)
        if not 0 <= self.δ < 1:
            raise InputError("δ of a lower bound", "a number in [0, 1)", self.δ)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        chance = f"; wrong with probability at most {self.δ:g}" if self.δ else ""
        return f"at least {self.value:.6g} ({self.method}{chance})"

"""Tails of ‖X‖_F as Assumptions 6.2 and 6.8 have them, and their integrals.

Both are used through P(‖X‖_F > M) and ∫_M^∞ P(‖X‖_F > t) dt, which give every moment needed:
E‖X − X_M‖_F is the integral, and E‖X‖_F 1{‖X‖_F > M} = M·P(‖X‖_F > M) + the integral. Probabilities
are cut at 1, so all of it holds at every level M ≥ 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.errors import InputError
from dudley.theorems.li2026.logs import exp, log


@dataclass(frozen=True)
class SubGaussianTail:
    """P(‖X‖_F ≥ t) ≤ min(1, (T + d)·e^{−t²/2ν²}): equation (9) with a scale ν of its own.

    >>> tail = SubGaussianTail(T=4, d=8, ν=1.0)
    >>> round(tail.probability(4.0), 6), round(tail.beyond(4.0), 6)
    (0.004026, 0.000953)
    """

    T: float
    d: float
    ν: float

    def log_printed(self, t: float) -> float:
        """log of (T + d)·e^{−t²/2ν²}."""
        ratio = t / self.ν if self.ν > 0 else math.inf if t > 0 else 0.0
        return math.log(self.T + self.d) - (ratio * ratio / 2 if ratio < 1e150 else math.inf)

    def probability(self, M: float) -> float:
        return exp(min(self.log_printed(M), 0.0))

    def beyond(self, M: float) -> float:
        """∫_M^∞ min(1, (T + d)e^{−t²/2ν²}) dt, by the complementary error function."""
        start = max(M, self.ν * math.sqrt(2 * math.log(self.T + self.d)))  # below, the tail is 1
        if self.ν == 0:
            return 0.0
        gauss = math.sqrt(math.pi / 2) * math.erfc(start / (self.ν * math.sqrt(2)))
        return (start - M) + (self.T + self.d) * self.ν * gauss


@dataclass(frozen=True)
class PolynomialTail:
    """P(‖X‖_F > t) ≤ min(1, Ct^{−β}), β > 1: equation (12), which asks for β > 2.

    >>> tail = PolynomialTail(C=1.0, β=3.0)
    >>> round(tail.probability(10.0), 9), round(tail.beyond(10.0), 9), tail.beyond(0.0)
    (0.001, 0.005, 1.5)
    """

    C: float
    β: float

    def __post_init__(self) -> None:
        if not self.β > 1:
            raise InputError("tail.beta", "a number > 1, for a tail that has a mean", self.β)

    def log_printed(self, t: float) -> float:
        """log of Ct^{−β}."""
        if self.C == 0:
            return -math.inf
        return log(self.C) - self.β * log(t) if t > 0 else math.inf

    def probability(self, M: float) -> float:
        return exp(min(self.log_printed(M), 0.0))

    def beyond(self, M: float) -> float:
        """∫_M^∞ min(1, Ct^{−β}) dt."""
        if self.C == 0:
            return 0.0
        start = max(M, exp(log(self.C) / self.β))  # below, the tail is 1
        return (start - M) + start * exp(self.log_printed(start)) / (self.β - 1)

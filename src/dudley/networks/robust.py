"""Robust losses: ψ(αℓ)/α with a ψ that grows like a logarithm, so that outliers weigh little.

The generalised log-truncation of power p ∈ (1, 2] is

    ψ_p(x) = log(1 + x + x^p/p),   x ≥ 0;   ψ_2 is Catoni's.

ψ_2′ falls from 1, but for p < 2 the slope rises above 1 before it falls: ψ_p′ = N/D with
N = 1 + x^{p−1} and D = 1 + x + x^p/p, and D² times its derivative is x^{p−2}(p − 1 − r(x)) with
r(x) = x^{2−p} + (3−p)x + x^p/p strictly increasing. So the slope is largest at the one root x* of
r(x) = p − 1 (at 0 for p = 2), and B_ψ = ψ_p′(x*) is in [1, 2).

Catoni (2012); Chen, Jin, Li, Xu (2021), *A generalized Catoni's M-estimator under finite α-th
moment assumption with α ∈ (1, 2)*; li2026, Section 6.2.

>>> [round(LogTruncation(p).lipschitz, 4) for p in (2.0, 1.5, 1.1)]
[1.0, 1.1..., 1.6...]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.core.constraint import Observed, radius_of
from dudley.core.errors import InputError
from dudley.core.rounding import down, up
from dudley.networks.losses import CrossEntropy, Loss

_WIDE = 1e-12  # more than rounding can move the root, in units of itself or of p − 1


@dataclass(frozen=True)
class LogTruncation:
    """ψ_p(x) = log(1 + x + x^p/p) on x ≥ 0."""

    power: float = 2.0

    def __post_init__(self) -> None:
        p = radius_of("psi.power", self.power)
        if not 1 < p <= 2:
            raise InputError("psi.power", "a number in (1, 2]", self.power)
        if isinstance(p, Observed):
            raise InputError("psi.power", "a number fixed before the data", self.power)

    def __call__(self, x: Any) -> Any:
        """ψ_p(x), for a number or an array ≥ 0."""
        return np.log1p(x + np.power(x, self.power) / self.power)

    def slope(self, x: Any) -> Any:
        """ψ_p′(x)."""
        p = self.power
        return (1 + np.power(x, p - 1)) / (1 + x + np.power(x, p) / p)

    @property
    def steepest(self) -> float:
        """x*, where the slope is largest."""
        p = self.power
        low, high = 0.0, 1.0  # r(0) = 0 and r(1) > p − 1
        for _ in range(1100):
            x = (low + high) / 2
            above = x ** (2 - p) + (3 - p) * x + x**p / p >= p - 1
            low, high = (low, x) if above else (x, high)
        return high if p < 2 else 0.0

    @property
    def lipschitz(self) -> float:
        """B_ψ, rounded upward: N at the upper end of a bracket of x* over D at its lower end."""
        p, x = self.power, self.steepest
        if p == 2:
            return 1.0
        width = _WIDE * max(x, p - 1)  # r′ ≥ 1, and r is p − 1 there, up to a few units
        low, high = max(x - width, 0.0), x + width
        return up(1 + high ** (p - 1), 8) / down(1 + low + low**p / p, 8)

    def upper(self, log_x: float) -> float:
        """ψ_p(e^u), rounded upward, also where e^u is no float."""
        linear = float(np.logaddexp(0.0, log_x))
        value = float(np.logaddexp(linear, self.power * log_x - math.log(self.power)))
        return up(value, 32 + 4 * math.ceil(abs(log_x)))


@dataclass(frozen=True)
class Robust:
    """ψ_p(αℓ)/α for a base loss ℓ in [0, b]: in [0, ψ_p(αb)/α], and B_ψ times as steep at most.

    The power and α are fixed before the data are seen (a union bound cannot move them: another α
    is another loss).

    >>> loss = Robust(Loss(range=100.0))
    >>> loss.lipschitz, round(loss.range, 4)
    (1.0, 8.5372)
    >>> import dudley as du
    >>> net = du.Head(8, du.L11(1.0), du.L11(1.0)) >> du.Readout(du.L1(1.0))
    >>> gap = du.capacity(net, du.Tokens(1.0, T=4), n=1e6, loss=loss).gap(0.05)
    >>> gap.value < du.capacity(net, du.Tokens(1.0, T=4), n=1e6, loss=loss.base).gap(0.05).value
    True
    """

    base: Loss | CrossEntropy
    power: float = 2.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.base, Loss | CrossEntropy):
            raise InputError("base loss", "Loss(…) or CrossEntropy(…)", type(self.base).__name__)
        LogTruncation(self.power)
        α = radius_of("psi.scale", self.scale)
        if α == 0 or isinstance(α, Observed):
            raise InputError("psi.scale", "a number > 0 fixed before the data", self.scale)

    @property
    def ψ(self) -> LogTruncation:
        return LogTruncation(self.power)

    @property
    def lipschitz(self) -> float:
        return up(self.ψ.lipschitz * self.base.lipschitz) if self.power < 2 else self.base.lipschitz

    @property
    def range(self) -> float:
        log_α, log_b = math.log(self.scale), math.log(self.base.range)
        log_range = math.log(self.ψ.lipschitz) + log_b  # ψ(x) ≤ B_ψ x
        value = self.ψ.upper(log_α + log_b)
        if value > 0:
            log_range = min(log_range, math.log(value) - log_α)
        return up(math.exp(log_range), 16 + 4 * math.ceil(abs(log_α) + abs(log_b)))

    @property
    def name(self) -> str:
        kind = "Catoni's ψ" if self.power == 2 else f"log-truncation of power {self.power:g}"
        return f"{kind} at scale {self.scale:g} of {self.base.name}"

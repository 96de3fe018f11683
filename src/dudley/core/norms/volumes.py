"""Logs of volumes of unit balls in R^p, from which those of matrices are put together."""

from __future__ import annotations

import math


def euclidean(p: int) -> float:
    """The ball of the ℓ2 norm: π^{p/2}/Γ(p/2 + 1)."""
    return p / 2 * math.log(math.pi) - math.lgamma(p / 2 + 1)


def cross_polytope(p: int) -> float:
    """The ball of the ℓ1 norm: 2^p/p!."""
    return p * math.log(2) - math.lgamma(p + 1)


def sum_of(part: float, width: int, count: int) -> float:
    """{(x_1, …, x_count) : Σ‖x_i‖ ≤ 1} for a norm on R^width whose ball has log volume ``part``."""
    return count * (part + math.lgamma(width + 1)) - math.lgamma(width * count + 1)

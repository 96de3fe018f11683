"""γ_SH, γ_MH and γ_ML + η_ML as printed, and the bounds on the excess risk made of them.

The norm-based bounds (Theorems 5.3, B.1, B.2, and 6.4 to 6.6 with a truncation level for B_x) read

    (P/n)(1 + log(γ³/δ²)) + 8κδ + inf_F exc,   P = 4κ(B + A),

A the bound on predictions. If no δ is given the right-hand side is minimised over it, in closed
form: δ = P/(4κn). Magnitudes are kept by their logarithms, since α_1 grows like a power of L.

>>> bounds = Bounds(QK=1.0, v=1.0, c=1.0, w=1.0, σ=1.0)
>>> [round(float(γ) ** 3) for γ in (γ_SH(bounds, 1.0, 1.0), γ_MH(bounds, 1.0, 1.0, H=8))]
[64, 4096]
>>> round(float(γ_ML(bounds, 1.0, 1.0, L=1)), 3), round(float(γ_ML(bounds, 1.0, 1.0, L=2)), 3)
(11.49, 42.161)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.calculus.allocate import log_sum
from dudley.core.constraint import L1, L2, Constraint
from dudley.core.magnitude import Magnitude
from dudley.theorems.li2026.models import Learning


@dataclass(frozen=True)
class Bounds:
    """B_QK, B_v, B_c in ‖·‖_{1,1}, B_w in ℓ2, and L_σ (assumption 5.1); ``w_l1`` where known."""

    QK: float
    v: float
    c: float
    w: float
    σ: float
    w_l1: float = math.inf

    @property
    def magnitudes(self) -> tuple[Magnitude, ...]:
        """B_v, B_c, B_w and L_σ."""
        v, c, w, σ = (Magnitude.of(b) for b in (self.v, self.c, self.w, self.σ))
        return v, c, w, σ

    @property
    def readout(self) -> Constraint:
        return L2(self.w) & L1(self.w_l1) if self.w_l1 < math.inf else L2(self.w)


def γ_SH(b: Bounds, C_1: float, B_x: float) -> Magnitude:
    """C_1^{1/3}B_x^{2/3}[(B_wL_σ)^{2/3} + 2(B_wL_σB_cB_v)^{2/3} + 1], Theorem B.1."""
    return γ_MH(b, C_1, B_x, 1.0)


def γ_MH(b: Bounds, C_1: float, B_x: float, H: float | Magnitude) -> Magnitude:
    """C_1^{1/3}B_x^{2/3}[(HB_wL_σ)^{2/3} + 2(HB_wL_σB_cB_v)^{2/3} + H^{2/3}], Theorem B.2."""
    B_v, B_c, B_w, L_σ = b.magnitudes
    H, third = Magnitude.of(H), 2 / 3
    inside = (H * B_w * L_σ) ** third + 2 * (H * B_w * L_σ * B_c * B_v) ** third + H**third
    return Magnitude.of(C_1) ** (1 / 3) * Magnitude.of(B_x) ** third * inside


def γ_ML(b: Bounds, C_1: float, B_x: float | Magnitude, L: float) -> Magnitude:
    """γ_ML + η_ML of Theorem 5.3, with α_i = Π_{j=i}^L L_σB_cB_v(1 + 4B_QK) as in its statement.

    γ_ML = C_1^{1/3}[(2L_σB_cB_vα_1B_wB_x²)^{2/3}
                     + B_x^{2/3}(1 + (α_1B_w)^{2/3} + (α_1B_wL_σB_v)^{2/3})],
    η_ML = C_1^{1/3}B_w^{2/3} Σ_{i≥2} [α_i^{2/3} + (2α_iL_σB_cB_v)^{2/3} + (α_iL_σB_v)^{2/3}].
    """
    B_v, B_c, B_w, L_σ = b.magnitudes
    B_x, third, L = Magnitude.of(B_x), 2 / 3, int(L)
    step = L_σ * B_c * B_v * (1 + 4 * b.QK)
    α_1 = step**L
    γ = (2 * L_σ * B_c * B_v * α_1 * B_w * B_x**2) ** third
    γ = γ + B_x**third * (1 + (α_1 * B_w) ** third + (α_1 * B_w * L_σ * B_v) ** third)
    if L > 1 and step.log > -math.inf:
        α = Magnitude(float(step.log) * np.arange(1, L))  # layers L, …, 2
        τ = α**third + (2 * α * L_σ * B_c * B_v) ** third + (α * L_σ * B_v) ** third
        γ = γ + B_w**third * Magnitude(float(log_sum(np.asarray(τ.log))))
    return Magnitude.of(C_1) ** (1 / 3) * γ


def printed_excess(learning: Learning, A: float, γ: Magnitude, resolution: float) -> float:
    """(4κ(B + A)/n)(1 + log(γ³/δ²)) + 8κδ + inf_F exc, at δ or at the best one."""
    n, κ, rest = learning.n, learning.kappa, learning.class_approximation
    P = 2 * learning.twice_M(A)
    if P in (0, math.inf):  # nothing to lose, or past the floats
        return P + rest + (8 * κ * resolution if resolution < math.inf else 0.0)
    log_δ = math.log(resolution) if resolution < math.inf else math.log(P) - math.log(4 * κ * n)
    return (P / n) * (1 + 3 * float(γ.log) - 2 * log_δ) + 8 * κ * math.exp(log_δ) + rest

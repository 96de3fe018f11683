"""γ_SH, γ_MH, γ_ML + η_ML as printed, and the classes that they are meant for, by the calculus.

The norm-based bounds (Theorems 5.3, B.1, B.2, and 6.4 to 6.6 with a truncation level for B_x) read

    (P/n)(1 + log(γ³/δ²)) + 8κδ + inf_F exc,   P = 4κ(B + A),

A the bound on predictions. If no δ is given the right-hand side is minimised over it, in closed
form: δ = P/(4κn). Magnitudes are kept by their logarithms, since α_1 grows like a power of L.

>>> one = Bounds(QK=1.0, v=1.0, c=1.0, w=1.0, σ=1.0)
>>> [round(float(γ) ** 3) for γ in (γ_SH(one, 1.0, 1.0), γ_MH(one, 1.0, 1.0, H=8))]
[64, 4096]
>>> round(float(γ_ML(one, 1.0, 1.0, L=1)), 3), round(float(γ_ML(one, 1.0, 1.0, L=2)), 3)
(11.49, 42.161)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.calculus.allocate import Allocated, Block, log_sum
from dudley.calculus.compose import Chain, Heads, Node, Repeat
from dudley.calculus.facts import Facts, Use
from dudley.classes.best import BestOf
from dudley.core.constraint import L1, L2, L11, Constraint
from dudley.core.entropy import Scope
from dudley.core.magnitude import Magnitude
from dudley.networks.activations import declared as declared_sigma
from dudley.networks.blocks import li_block
from dudley.networks.embeddings import Tokens
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.li2026.models import Learning

ANY_LENGTH = 2**52  # longer than any sequence: what holds for it holds for all


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


def γ_SH(b: Bounds, C_1, B_x) -> Magnitude:
    """C_1^{1/3}B_x^{2/3}[(B_wL_σ)^{2/3} + 2(B_wL_σB_cB_v)^{2/3} + 1], Theorem B.1."""
    return γ_MH(b, C_1, B_x, 1.0)


def γ_MH(b: Bounds, C_1, B_x, H) -> Magnitude:
    """C_1^{1/3}B_x^{2/3}[(HB_wL_σ)^{2/3} + 2(HB_wL_σB_cB_v)^{2/3} + H^{2/3}], Theorem B.2."""
    B_v, B_c, B_w, L_σ = b.magnitudes
    H, third = Magnitude.of(H), 2 / 3
    inside = (H * B_w * L_σ) ** third + 2 * (H * B_w * L_σ * B_c * B_v) ** third + H**third
    return Magnitude.of(C_1) ** (1 / 3) * Magnitude.of(B_x) ** third * inside


def γ_ML(b: Bounds, C_1, B_x, L) -> Magnitude:
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


def heads(d, k, b: Bounds, H: float = 1) -> Chain:
    """H heads (2), (3) with ‖·‖_{1,1} bounds, added, and a readout of the [CLS] row."""
    σ = declared_sigma(b.σ)
    head = Head(int(d), L11(b.v), L11(b.QK), W_c=L11(b.c), k=int(k), sigma=σ, query="cls")
    return (head if H == 1 else Heads(head, int(H))) >> Readout(b.readout)


def layers(d, k, b: Bounds, L) -> Chain:
    """L blocks (5), in which σ acts twice, and a readout of the [CLS] row."""
    σ = declared_sigma(b.σ)
    block = li_block(int(d), L11(b.QK), L11(b.v), L11(b.c), k=int(k), sigma=σ)
    return Repeat(block, int(L)) >> Readout(b.readout)


def tokens(B_x: float, T: float = math.inf) -> Tokens:
    """Tokens of norm ≤ B_x: T of them, or any number."""
    return Tokens(B_x, int(T) if math.isfinite(T) else ANY_LENGTH)


@dataclass(frozen=True)
class Class:
    """A network on tokens of norm ≤ B_x: its entropy, and the bound A on its predictions."""

    network: Node
    d: float
    B_x: float
    T: float = math.inf

    @cached_property
    def facts(self) -> Facts:
        return self.network.facts(tokens(self.B_x, self.T).signal(int(self.d)))

    @property
    def A(self) -> float:
        """The largest prediction."""
        return float(self.facts.out.radius)

    def entropy(self, covers: str = "own") -> Allocated:
        """Sup metric over the sample. ``covers`` says which ones:

        ``"own"``: Maurey's for matrices, as in the paper, and every one for w; ``"all"``: every one
        (without T: of uniform scope) for matrices too; ``"uniform"``: only of uniform scope.
        """
        blocks = []
        for use in self.facts.uses:
            found = use.entropy
            assert isinstance(found, BestOf)
            blocks.append(Block(use.name, self._chosen(found, use, covers), use.weight, use.copies))
        return Allocated(tuple(blocks))

    def _chosen(self, entropy: BestOf, use: Use, covers: str) -> BestOf:
        uniform = tuple(c.name for c in entropy.covers if c.scope is Scope.UNIFORM)
        if covers == "uniform":
            return entropy.only(uniform)
        if use.name.endswith(".w"):
            return entropy
        if covers == "own":
            return entropy.only(("maurey",))
        return entropy if math.isfinite(self.T) else entropy.only(uniform)

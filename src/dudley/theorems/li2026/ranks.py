"""What the rank-based bounds are made of: weights, printed log-covers, and the networks themselves.

Printed covers have the shape a − b·log δ (:class:`LogCover`), once Corollary 5.6 has split δ:

* Theorem 5.8: Σ r_iC log(b_i²/δ²), b_i² = B_Xβ_iS/(r_iC), S = CΣr, over w and, for every layer,
  W_c, W_v and W_QK, with weights 1, α_iB_w, α_iB_wL_σB_v, 2α_iL_σB_cB_vB_w, and
  α_i = Π_{j≥i} L_σB_cB_v(1 + 4B_QK) as Theorem 5.3 prints it;
* Theorems B.4 and B.5: N_rank − 1 = Σ r_jC log(r_jB_x²/ε_j²), ε_j = δr_jC/(β_jS) (eq. 20), with
  weights B_c, B_wL_σ, B_wL_σB_c, 2B_wL_σB_cB_v (times H).

The vector w has rank 1 and all constants C_i are one C. A weight of 0 needs no cover: where the
formula would print log 0, the term is left out.

The entropies that are true are those of the calculus on the same networks, with covers of
matrices of given rank and spectral norm: they count r(d + k) parameters a matrix.

>>> import numpy as np
>>> matrices = RankedMatrices(64, 16, 2, 3, 4, 1.0, 2.0, 3.0, 5.0, 1.0)
>>> np.exp(matrices.layer_weights()).round(9).tolist()  # w, W_c, W_v, W_QK
[3.0, 5.0, 15.0, 60.0]
>>> np.exp(matrices.stack_weights(2)).round(6).tolist()  # w, then two layers of W_c, W_v, W_QK
[1.0, 4500.0, 150.0, 9000.0, 300.0, 54000.0, 1800.0]
>>> cover = matrices.layer_cover(B_x=1.0)
>>> round(cover(0.1), 4), round(matrices.entropy(matrices.layer(), 1.0)(0.1), 1)
(129.5745, 7221.5)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.calculus.allocate import Allocated
from dudley.calculus.assemble import compose
from dudley.calculus.compose import Chain, Heads
from dudley.calculus.repeat import Repeat
from dudley.core.constraint import L2, Constraint, Rank, Spectral
from dudley.core.errors import InputError
from dudley.networks.activations import declared as declared_sigma
from dudley.networks.blocks import li_block
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.li2026.logs import log
from dudley.theorems.trauger2024.peeling import tokens

COUNTING = ("rank", "volumetric")  # the covers that count parameters


@dataclass(frozen=True)
class LogCover:
    """δ ↦ constant − slope·log δ: a log covering number as Section 5.2 prints it."""

    constant: float
    slope: float

    @classmethod
    def of(cls, p: np.ndarray, log_b2: np.ndarray) -> LogCover:
        """Σ p_i log(b_i²/δ²) over the b_i > 0."""
        counts = (log_b2 > -math.inf) & (p > 0)
        return cls(float((p * np.where(counts, log_b2, 0.0)).sum()), 2 * float(p[counts].sum()))

    def at(self, t: float) -> float:
        """The value at δ = e^t."""
        return self.constant - self.slope * t if self.slope > 0 else self.constant

    def __call__(self, δ: float) -> float:
        return self.at(math.log(δ))

    @property
    def end(self) -> float:
        """log of the resolution at which it is 0: beyond, it is no log covering number."""
        return self.constant / self.slope


@dataclass(frozen=True)
class RankBounds:
    """Ranks and spectral norms of W_QK ∈ R^{d×d}, W_v ∈ R^{d×k}, W_c ∈ R^{k×d}, and ‖w‖₂."""

    d: float
    k: float
    r_QK: float
    r_v: float
    r_c: float
    W_QK_op: float
    W_v_op: float
    W_c_op: float
    w_l2: float
    sigma_lipschitz: float


@dataclass(frozen=True)
class RankedMatrices(RankBounds):
    """All matrices within these bounds, covered as printed and by the calculus."""

    # -- as printed --------------------------------------------------------------------------

    def ranks(self, L: float = 1) -> np.ndarray:
        """r_i of w, then of W_c, W_v and W_QK of every layer."""
        return np.concatenate([[1.0], np.repeat([self.r_c, self.r_v, self.r_QK], int(L))])

    def layer_weights(self, H: float = 1) -> np.ndarray:
        """log β_w, log β_c, log β_v and log β_QK of Theorems B.4 (H = 1) and B.5."""
        B_w, B_c, L_σ = log(self.w_l2), log(self.W_c_op), log(self.sigma_lipschitz)
        weights = [
            B_c,
            B_w + L_σ,
            B_w + L_σ + B_c,
            math.log(2) + B_w + L_σ + B_c + log(self.W_v_op),
        ]
        return math.log(H) + np.array(weights)

    def stack_weights(self, L: float) -> np.ndarray:
        """log β_1, …, log β_{3L+1} of Theorem 5.8."""
        B_w, B_c, B_v = log(self.w_l2), log(self.W_c_op), log(self.W_v_op)
        L_σ, step = log(self.sigma_lipschitz), np.logaddexp(0.0, math.log(4) + log(self.W_QK_op))
        α = np.arange(int(L), 0, -1.0) * (L_σ + B_c + B_v + step)
        values, scores = L_σ + B_v, math.log(2) + L_σ + B_c + B_v
        return np.concatenate([[0.0], α + B_w, α + B_w + values, α + B_w + scores])

    def layer_cover(self, B_x: float, H: float = 1, c: float = 1.0) -> LogCover:
        """N_rank − 1 of Theorems B.4 and B.5, C_1 = c."""
        r, β = self.ranks(), self.layer_weights(H)
        ε = np.log(r) - β - math.log(r.sum())  # log of ε_j/δ, by eq. (20)
        return LogCover.of(c * r, np.log(r) + 2 * log(B_x) - 2 * ε)

    def stack_cover(self, B_X: float, L: float, c: float = 1.0) -> LogCover:
        """Σ r_iC_i log(b_i²/δ²) of Theorem 5.8, C_i = c."""
        r = self.ranks(L)
        return LogCover.of(c * r, log(B_X) + self.stack_weights(L) + math.log(r.sum()) - np.log(r))

    # -- as it is ----------------------------------------------------------------------------

    def _matrix(self, rank: float, op: float, *shape: float) -> Constraint:
        return Spectral(op) & Rank(min(rank, *shape))

    def _score_value_output(self) -> tuple[Constraint, Constraint, Constraint]:
        return (
            self._matrix(self.r_QK, self.W_QK_op, self.d),
            self._matrix(self.r_v, self.W_v_op, self.d, self.k),
            self._matrix(self.r_c, self.W_c_op, self.d, self.k),
        )

    def layer(self, H: float = 1) -> Chain:
        """H heads that ask from the [CLS] row, and a readout: eqs. (2) and (3)."""
        W_QK, W_v, W_c = self._score_value_output()
        σ = declared_sigma(self.sigma_lipschitz)
        head = Head(int(self.d), W_v=W_v, W_QK=W_QK, W_c=W_c, k=int(self.k), sigma=σ, query="cls")
        return Heads(head, int(H)) >> Readout(L2(self.w_l2))

    def stack(self, L: float) -> Chain:
        """L blocks of eq. (5), in which σ acts twice, and a readout."""
        W_QK, W_v, W_c = self._score_value_output()
        σ = declared_sigma(self.sigma_lipschitz)
        block = li_block(int(self.d), W_QK, W_v, W_c, k=int(self.k), sigma=σ)
        return Repeat(block, int(L)) >> Readout(L2(self.w_l2))

    def entropy(
        self, network: Chain, R: float, covers: tuple[str, ...] | None = COUNTING
    ) -> Allocated:
        """log N of a network on tokens of norm ≤ R, any number of them; all covers: ``UNIFORM``."""
        return compose(network, tokens(R).signal(int(self.d)), covers)[0]


def bound_by_log(cover: LogCover, P: float, κ: float, δ: float) -> float:
    """P(1 + ℓ(δ)) + 8κδ; for δ = ∞ its minimum over the δ with ℓ(δ) ≥ 0, in closed form.

    >>> round(bound_by_log(LogCover(0.0, 2.0), 0.004, 1.0, math.inf), 6)  # at δ = 0.001
    0.067262
    """
    if δ < math.inf:
        return P * (1 + cover(δ)) + 8 * κ * δ
    if P == 0 or cover.slope == 0:
        return P * (1 + cover.constant)
    t = min(math.log(P) + math.log(cover.slope) - math.log(8 * κ), cover.end)
    return P * (1 + cover.at(t)) + 8 * κ * math.exp(t)


def bound_by_log_log(cover: LogCover, P: float, κ: float, δ: float) -> float:
    """P(1 + log(1 + ℓ(δ))) + 8κδ; for δ = ∞ its minimum over the δ with ℓ(δ) ≥ 0, by bisection.

    With N = 1 + ℓ the derivative vanishes where δN(δ) = Pb/(8κ), b the slope of ℓ. On N ≥ b the
    left side grows with δ, and there lies the only local minimum; the other candidate is the end,
    N = 1.

    >>> round(bound_by_log_log(LogCover(0.0, 2.0), 0.004, 1.0, math.inf), 6)
    0.016541
    """

    def value(t: float) -> float:
        return P * (1 + math.log1p(cover.at(t))) + 8 * κ * math.exp(t)

    if δ < math.inf:
        if cover(δ) <= -1:
            raise InputError(
                "resolution", "a resolution at which N_rank > 0", δ, "take a smaller one"
            )
        return value(math.log(δ))
    if P == 0 or cover.slope == 0:
        return P * (1 + math.log1p(max(cover.constant, 0.0)))
    return min(value(min(t, cover.end)) for t in (stationary(cover, P, κ), cover.end))


def stationary(cover: LogCover, P: float, κ: float) -> float:
    """log of the δ on N(δ) ≥ max(b, 1) with δN(δ) = Pb/(8κ), or the end of that range."""
    goal = math.log(P) + math.log(cover.slope) - math.log(8 * κ)
    high = cover.end + (1 - max(cover.slope, 1.0)) / cover.slope
    step = 1.0
    low = high - step
    while low + math.log1p(cover.at(low)) > goal:
        step *= 2
        low = high - step
    for _ in range(200):
        middle = (low + high) / 2
        rises = middle + math.log1p(cover.at(middle)) <= goal
        low, high = (middle, high) if rises else (low, middle)
    return low

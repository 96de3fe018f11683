"""Heads and layers whose matrices have a bounded rank and spectral norm, as learning problems.

>>> fields = dict(n=1e6, kappa=1.0, target_bound=1.0, class_approximation=0.0, noise_free=1)
>>> fields |= dict(bernstein_V=float("inf"), L=2, d=64, k=64, r_QK=2, r_v=4, r_c=4, W_QK_op=1.0)
>>> fields |= dict(W_v_op=1.0, W_c_op=1.0, w_l2=1.0, sigma_lipschitz=1.0, X_op=9.0, X_row2inf=1.0)
>>> model = LowRankStack(**fields)
>>> model.R, model.A, round(model.entropy(COUNTING)(0.01))
(1.0, 1.0, 21866)
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from dudley.calculus.allocate import Allocated
from dudley.core.statement import Input
from dudley.theorems.li2026.models import (
    SPECTRAL,
    TOKENS,
    X_OP,
    Learning,
    SpectralLayer,
    SpectralStack,
)
from dudley.theorems.li2026.ranks import COUNTING, RankBounds, RankedMatrices

SIZES = (Input("d"), Input("k"))
RANKS = (Input("r_QK"), Input("r_v"), Input("r_c"))
SCORES = Input("W_QK.op", aliases=("B_QK",))
CLASS = (*SIZES, *RANKS, SCORES, *SPECTRAL, X_OP, TOKENS)


@dataclass(frozen=True)
class LowRankLearning(Learning, RankBounds):
    """Abstract: learning with matrices of the given ranks and spectral norms."""

    @property
    def matrices(self) -> RankedMatrices:
        return RankedMatrices(
            **{bound.name: getattr(self, bound.name) for bound in fields(RankBounds)}
        )


@dataclass(frozen=True)
class LowRankLayer(LowRankLearning, SpectralLayer):
    """H heads of low rank."""

    def entropy(self, covers: tuple[str, ...] | None = COUNTING) -> Allocated:
        return self.matrices.entropy(self.matrices.layer(self.H), self.R, covers)


@dataclass(frozen=True)
class LowRankStack(LowRankLearning, SpectralStack):
    """L blocks of low rank; rows leave Π with norm at most 1."""

    L: float
    X_op: float
    X_row2inf: float

    @property
    def R(self) -> float:
        """The largest token norm."""
        return min(self.X_op, self.X_row2inf)

    def entropy(self, covers: tuple[str, ...] | None = COUNTING) -> Allocated:
        return self.matrices.entropy(self.matrices.stack(self.L), self.R, covers)

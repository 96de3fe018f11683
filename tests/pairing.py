"""X ↦ ⟨W, X⟩, the linear class on matrices, whose suprema are dual norms: it calibrates ascents.

The sup over a ball of (1/n) Σ s_i⟨W, X_i⟩ is the radius times the dual norm
of (1/n) Σ s_i X_i, nuclear for the spectral ball.

>>> import numpy as np, dudley as du
>>> from dudley.audit.ascent import supremum_below
>>> X = np.diag([3.0, 1.0])[None]
>>> round(float(supremum_below(Pairing(2, du.Spectral(1.0)), X, np.ones((1, 1)))[0]), 4)
4.0
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.calculus.compose import Node
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.core.constraint import Constraint, size_of
from dudley.core.lemma import Lemma
from dudley.core.magnitude import smallest, sqrt


@dataclass(frozen=True)
class Pairing(Node):
    """X ↦ Σ_t Σ_j W_tj X_tj, for T rows and W ∈ R^{T×d}."""

    T: int
    W: Constraint
    lemma = Lemma(
        "Pairing",
        "A linear functional of all rows.",
        r"|\langle W,X\rangle|\le\sum_t\|W_t\|_2\|X_t\|_2",
        "Cauchy–Schwarz",
    )

    def __post_init__(self):
        size_of("T", self.T)

    def facts(self, signal):
        W = Parameter((self.T, signal.width), self.W)
        lipschitz = W.norm("row21")
        reach = sqrt(self.T * min(self.T, signal.width)) * signal.radius  # of the nuclear norm of X
        radius = smallest(lipschitz * signal.radius, W.norm("op") * reach)
        return Facts(Signal(radius, 1.0, 1), lipschitz, (Use("W", W, reach),))

    def parameters(self, width):
        return {"W": Parameter((self.T, width), self.W)}, 1

    def apply(self, params, X):
        return (X * params["W"]).sum(-1)[..., None].sum(-2)[..., None]

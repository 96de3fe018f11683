"""The general attention head of edelman2021, definition 3.1, with a scalar output.

    f(X) = w · φ_out( φ_in(X)ᵀ Norm(Score(x_1, z), …, Score(x_T, z)) ),   z = x_cls,

with Score(x, z) = g(x W_QK zᵀ · scale), φ_in(x) = σ_in(x W_v), φ_out = σ_out, any activations with
σ(0) = 0 for the latter two, and any normaliser whose weights sum to one. The description is
Assumption 4.1 with its constants: what is covered are the scores and the inner values on tokens of
the given radius R, so ‖ΔScore‖ ≤ L_g·scale·|xΔW_QK zᵀ| and ‖Δφ_in‖ ≤ L_in‖xΔW_v‖.

>>> import dudley as du
>>> from dudley.models import GeneralAttention
>>> model, tokens = GeneralAttention(d=4, score="tanh"), du.Tokens(row2inf=1.0, T=8)
>>> [use.name for use in du.capacity(model.description(tokens), tokens).facts.uses]
['0.score', '0.inner', '1.w']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dudley.calculus.compose import Chain
from dudley.calculus.facts import Parameter
from dudley.calculus.nest import Path
from dudley.calculus.node import Node
from dudley.core.arrays import transpose
from dudley.core.backend import torch
from dudley.core.constraint import FREE, Constraint, Observed
from dudley.core.errors import InputError, NotYetPaid
from dudley.core.magnitude import ONE
from dudley.core.rounding import up
from dudley.models.base import Model
from dudley.models.general_covers import ForTokens, OnTokens
from dudley.models.initial import Law, lecun
from dudley.networks.activations import Activation, activation
from dudley.networks.embeddings import Tokens
from dudley.networks.general import GeneralHead
from dudley.networks.normalisers import NormalisedLinear, Normaliser, normaliser
from dudley.networks.outputs import Readout

OVER_OP = ("op", "fro", "l11")  # norms at or above the spectral one


@dataclass(frozen=True)
class Bilinear:
    """Score(x, z) = g(x W_QK zᵀ · scale), a column of T numbers."""

    g: Activation
    scale: float

    def __call__(self, params: Any, x: Any, z: Any) -> Any:
        return self.g.apply(x @ params["W_QK"] @ transpose(z) * self.scale)


@dataclass(frozen=True)
class Down:
    """A normaliser along a column."""

    inner: Normaliser

    def __call__(self, s: Any) -> Any:
        return transpose(self.inner.apply(transpose(s)))


@dataclass(frozen=True)
class Inner:
    """φ_in(x) = σ_in(x W_v)."""

    σ: Activation

    def __call__(self, params: Any, x: Any) -> Any:
        return self.σ.apply(x @ params["W_v"])


@dataclass(frozen=True)
class Outer:
    """φ_out(y) = σ_out(y)."""

    σ: Activation

    def __call__(self, params: Any, y: Any) -> Any:
        return self.σ.apply(y)


class GeneralAttention(Model):
    """Score, Norm, φ_in and φ_out by name; W_QK ∈ R^{d×d}, W_v ∈ R^{d×k}, w ∈ R^k are trained."""

    def __init__(
        self,
        d: int,
        k: int | None = None,
        score: str | Activation = "identity",
        attention: str | Normaliser = "softmax",
        inner: str | Activation = "identity",
        outer: str | Activation = "relu",
        scale: float = 1.0,
        seed: int | torch.Generator = 0,
    ):
        self.g, self.A = activation(score), normaliser(attention)
        self.σ_in, self.σ_out, self.k = activation(inner), activation(outer), k or d
        self.scale = scale
        if not self.A.sums_to_one or isinstance(self.A, NormalisedLinear):
            raise InputError("attention of a general head", "softmax or sparsemax", attention)
        for what, σ in (("inner", self.σ_in), ("outer", self.σ_out)):
            if σ.at0 != 0:
                raise InputError(f"{what} map", "an activation with σ(0) = 0", σ.name)
        functions = (
            Bilinear(self.g, scale), Down(self.A), Inner(self.σ_in), Outer(self.σ_out)
        )  # fmt: skip
        nothing = OnTokens(Parameter((d, d), FREE), 0.0)  # nothing is known of free weights
        self.general = GeneralHead(nothing, nothing, width=self.k, functions=functions)
        super().__init__(Chain((self.general, Readout(FREE))), d, seed)

    def shapes(self) -> list[dict[str, Parameter]]:
        d, k = self.width, self.k
        head = {"W_QK": Parameter((d, d), FREE), "W_v": Parameter((d, k), FREE)}
        return [head, {"w": Parameter((k, 1), FREE)}]

    def law(self, name: str, shape: tuple[int, int]) -> Law:
        return lecun(shape)

    def described(self, sets: Mapping[Path, Constraint], inputs: Tokens) -> Node:
        """Assumption 4.1 for these sets and tokens."""
        if isinstance(inputs.row2inf, Observed) or isinstance(inputs.row1inf, Observed):
            raise NotYetPaid("a general head is covered on tokens of a declared radius; declare it")
        signal, d, σ = inputs.signal(self.width), self.width, self.σ_in
        R, T = float(signal.radius), signal.rows
        W_QK = Parameter((d, d), sets[0, "W_QK"])
        W_v = Parameter((d, self.k), sets[0, "W_v"])
        sizes = [b.radius for b in W_v.constraint.balls if b.center is None and b.norm in OVER_OP]
        if not sizes:
            raise InputError("norms", f"one of {', '.join(OVER_OP)} among them", "none")
        growth = σ.lipschitz if σ.growth is None else σ.growth
        head = replace(
            self.general,
            score=OnTokens(W_QK, up(self.g.lipschitz * self.scale * R**2), "bilinear", T),
            inner=OnTokens(W_v, up(σ.lipschitz * R), "linear", T, signal.l1),
            C_norm=float(self.A.lipschitz(ONE, T)),  # these two ask for no range of scores
            L_out=self.σ_out.lipschitz,
            B_in=up(growth * min(sizes)),
        )
        guarded = ForTokens(head, d, float(up(R)), T, signal.l1)
        return Chain((guarded, Readout(sets[1, "w"])))

"""The general attention head of edelman2021: any score, any normaliser, any inner and outer map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.node import Node
from dudley.core.arrays import transpose
from dudley.core.constraint import radius_of, size_of
from dudley.core.entropy import Entropy
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import UNKNOWN, Magnitude


@dataclass(frozen=True)
class GeneralHead(Node):
    """y = φ_out( φ_in(X)ᵀ Norm(Score(x_1, z), …, Score(x_T, z)) ), z the last row.

    Facts of edelman2021, Assumption 4.1: φ_out is L_out-Lipschitz with φ_out(0) = 0,
    ‖φ_in(x)‖ ≤ B_in‖x‖, and Norm has Lipschitz constant C_norm from ℓ∞ to ℓ1 and mass ≤ 1.
    ``score`` is the entropy of scores (absolute value), ``inner`` that of φ_in (ℓ2), both on all
    tokens; φ_out is fixed. ``lipschitz`` in the inputs is unknown unless given: the head must
    come first.

    ``functions`` = (score(params, x, z), norm(s), phi_in(params, x), phi_out(params, y)) make it
    executable; their ``params`` are whatever they share, since their blocks are given by entropy.
    """

    score: Entropy
    inner: Entropy
    C_norm: float = 1.0
    L_out: float = 1.0
    B_in: float = 1.0
    width: int | None = None
    lipschitz: float | None = None
    functions: tuple[Callable, Callable, Callable, Callable] | None = None
    lemma = Lemma(
        "General attention head",
        "A score error passes the normaliser, an inner error only the outer map.",
        r"\|\Delta y\|\le C_{Norm}L_{out}B_{in}B_X\|\Delta Score\|_\infty"
        r"+L_{out}\|\Delta\phi_{in}\|_{2,\infty}",
        "edelman2021, Lemma 4.3 and Theorem 4.2",
    )

    def __post_init__(self) -> None:
        for name in ("C_norm", "L_out", "B_in"):
            radius_of(name, getattr(self, name))
        if self.lipschitz is not None:
            radius_of("lipschitz", self.lipschitz)
        if self.width is not None:
            size_of("width", self.width)

    def facts(self, signal: Signal) -> Facts:
        R = signal.radius
        out = Signal(R * self.L_out * self.B_in, 1.0, self.width or signal.width)
        uses = (
            Use("score", self.score, R * (self.C_norm * self.L_out * self.B_in)),
            Use("inner", self.inner, Magnitude.of(self.L_out)),
        )
        known = UNKNOWN if self.lipschitz is None else Magnitude.of(self.lipschitz)
        return Facts(out, known, uses)

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return {}, self.width or width

    def apply(self, params: Any, X: Any) -> Any:
        if self.functions is None:
            raise InputError("general head", "functions, to be executable", "none")
        score, norm, phi_in, phi_out = self.functions
        weights = norm(score(params, X, X[..., -1:, :]))  # (…, T, 1)
        return phi_out(params, transpose(weights) @ phi_in(params, X))

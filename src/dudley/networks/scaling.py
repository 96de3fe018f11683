"""Nodes that multiply: by one fixed number, or entry by entry by trained ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dudley.calculus import arithmetic
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.node import Node
from dudley.core.arrays import transpose
from dudley.core.constraint import Constraint, radius_of, size_of
from dudley.core.lemma import Lemma
from dudley.core.magnitude import Magnitude
from dudley.networks.pointwise import expect_constraints, expect_width
from dudley.networks.registry import NODES


@NODES.register("scale")
@dataclass(frozen=True)
class Scale(Node):
    """x ↦ c·x for a number c ≥ 0 that is fixed, not trained.

    >>> round(float(Scale(0.5).facts(Signal(Magnitude.of(8.0), 1.0, 4)).out.radius), 9)
    4.0
    """

    c: float
    lemma = Lemma("Scaling", "A fixed factor.", r"R\mapsto cR,\qquad L=c", "definition")

    def __post_init__(self) -> None:
        radius_of("factor of a scaling", self.c)

    def facts(self, signal: Signal) -> Facts:
        c = Magnitude.of(self.c)
        return Facts(replace(signal, radius=c * signal.radius), c)

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return {}, width

    def rounding(self, signal: Signal) -> float:
        return arithmetic.U * self.c * float(signal.radius)

    def apply(self, params: Any, X: Any) -> Any:
        return self.c * X


@NODES.register("layer-scale")
@dataclass(frozen=True)
class LayerScale(Node):
    """x ↦ g ⊙ x for trained g ∈ R^d: the factor of a branch in CaiT and DINOv2."""

    d: int
    gain: Constraint
    name: str = "gain"  # what the weights are called in reports and in ``params``
    lemma = Lemma(
        "Layer scale",
        "Entries are multiplied: the largest factor is the slope.",
        r"\|(g-\hat g)\odot x\|\le\|\Delta g\|_\infty\|x\|,\qquad L=\|g\|_\infty",
        "‖a⊙b‖₂ ≤ ‖a‖_∞‖b‖₂",
    )

    def __post_init__(self) -> None:
        expect_constraints(self)
        size_of("d", self.d)

    def facts(self, signal: Signal) -> Facts:
        expect_width("layer scale", self.d, signal)
        g = Parameter((self.d, 1), self.gain)
        use = Use(self.name, g, signal.radius, rows=self.d, l1=1.0)
        out = replace(signal, radius=g.norm("linf") * signal.radius, l1=None)
        return Facts(out, g.norm("linf"), (use,))

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return {self.name: Parameter((self.d, 1), self.gain)}, width

    def rounding(self, signal: Signal) -> float:
        return arithmetic.U * float(self.facts(signal).out.radius)

    def apply(self, params: Any, X: Any) -> Any:
        return X * transpose(params[self.name])

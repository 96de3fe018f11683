"""Where tokens come from: inputs of bounded norm or one-hot, embeddings, positions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dudley.calculus import arithmetic
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.node import Node
from dudley.core.constraint import Constraint, radius_of, size_of
from dudley.core.errors import InputError
from dudley.core.lemma import Lemma
from dudley.core.magnitude import ONE, Magnitude
from dudley.networks.pointwise import Dense, expect_constraints
from dudley.networks.registry import NODES


@dataclass(frozen=True)
class Tokens:
    """T token rows with ‖x_t‖₂ ≤ row2inf for *every* input, seen or not (and ‖x_t‖₁ ≤ row1inf).

    A radius that was only measured on data is ``Observed`` and supports no guarantee, unless the
    network clips its inputs to it (``clipped=True``): then it is a choice that a union can pay.
    """

    row2inf: float
    T: int = 1
    d: int | None = None
    row1inf: float | None = None
    clipped: bool = False

    def __post_init__(self) -> None:
        size_of("T", self.T)
        for name in ("row2inf", "row1inf"):
            value = getattr(self, name)
            if value is not None:
                radius_of(f"X.{name}", value)

    def signal(self, d: int) -> Signal:
        """The signal these tokens make, for a network of input width d."""
        if self.d is not None and self.d != d:
            raise InputError("d of the tokens", f"the network's input width {d}", self.d)
        l1, row2inf = None, float(self.row2inf)
        if self.row1inf is not None and row2inf > 0:
            row2inf = min(row2inf, float(self.row1inf))
            l1 = min(float(self.row1inf) / row2inf, math.sqrt(d)) if row2inf > 0 else None
        return Signal(Magnitude.of(row2inf), float(self.T), d, l1)


def OneHot(V: int, T: int) -> Tokens:
    """T tokens out of a vocabulary of V, as one-hot rows."""
    return Tokens(1.0, T, V, row1inf=1.0)


@NODES.register("positions")
@dataclass(frozen=True)
class Positions(Node):
    """x_t ↦ x_t + P_t with ‖P_t‖₂ bounded; ``trained`` positions are T·d further weights.

    Fixed positions cost nothing but radius. Trained ones cost a cover of T rows: no bound that is
    free of the sequence length survives them.
    """

    d: int
    T: int
    P: Constraint
    trained: bool = False
    lemma = Lemma(
        "Positions",
        "Adding a row of bounded norm moves the radius; trained rows are weights.",
        r"R\mapsto R+\max_t\|P_t\|_2,\qquad L=1",
        "edelman2021, Lemma A.11",
    )

    def __post_init__(self) -> None:
        expect_constraints(self)
        size_of("T", self.T)

    def facts(self, signal: Signal) -> Facts:
        P = Parameter((self.T, self.d), self.P)
        if signal.width != self.d or signal.rows > self.T:
            raise InputError(
                "positions",
                f"at most {self.T} rows of width {self.d}",
                f"{signal.rows:g} rows of width {signal.width}",
            )
        uses = (Use("P", P, ONE, rows=self.T, l1=1.0),) if self.trained else ()
        return Facts(replace(signal, radius=signal.radius + P.norm("row2inf"), l1=None), ONE, uses)

    def parameters(self, width: int) -> tuple[dict[str, Parameter], int]:
        return {"P": Parameter((self.T, self.d), self.P, self.trained)}, width

    def rounding(self, signal: Signal) -> float:
        return arithmetic.U * float(self.facts(signal).out.radius)

    def apply(self, params: Any, X: Any) -> Any:
        return X + params["P"][..., : X.shape[-2], :]


@NODES.register("embedding")
def Embedding(V: int, d: int, W_E: Constraint) -> Dense:
    """One-hot rows of width V ↦ rows of the trained table W_E ∈ R^{V×d}."""
    return Dense(V, W_E, d, names=("W_E", "b_E"))

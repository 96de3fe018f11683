"""Below q = 1 the middle of two basis vectors is longer than either."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise, at_most


@WITNESSES.register("quasi-norm")
@dataclass(frozen=True)
class QuasiNorm(Witness):
    """trauger2024, Lemma 3.2 for q < 1: F = {0, identity of R^d} on the ℓ1 ball.

    The zero map is within 1 of the identity on every basis vector, but on x = (1/d, …, 1/d), which
    lies in the ℓ1 ball, it is off by ‖x‖_q = d^{1/q−1}. So at any resolution between the two, one
    element covers the basis and two are needed on the ball.
    """

    d: int = 2
    q: float = 0.5
    refutes = ("trauger2024/lemma-3.2",)
    story = (
        "For q = 1/2 the zero map 1-covers the identity on e₁ and e₂, but it is off by 2 at their "
        "midpoint."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {"d": self.d, "output.q": self.q, "epsilon": 1.0}

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        unit, q = np.eye(self.d), self.q
        return (
            Premise("q > 0, as the covering numbers of section 2.4 allow", lambda: q > 0),
            Premise("‖x‖₁ ≤ B_x = 1 (3.2)", lambda: at_most(self.d * abs(1 / self.d), 1.0)),
            Premise(
                "0 is within ε of the identity at every basis vector (3.2)",
                lambda: all(
                    at_most(float((x**q).sum() ** (1 / q)), self.inputs(statement)["epsilon"])
                    for x in unit
                ),
            ),
        )

    def lower_bound(self) -> float:
        x = np.full(self.d, 1 / self.d)
        return float((x**self.q).sum() ** (1 / self.q))

"""Two equal blocks of logarithmic entropy: the best split is known without any calculus."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise, at_most


@WITNESSES.register("equal-split")
@dataclass(frozen=True)
class EqualSplit(Witness):
    """li2026, Corollary 5.6 with r_i = C_i = β_i = B_X = 1, i = 1, 2, and ε = 0.1.

    For ε_1 + ε_2 = ε the geometric mean gives ε_1ε_2 ≤ ε²/4, so the sum
    log(1/ε_1²) + log(1/ε_2²) is at least 4 log(2/ε), with equality at ε_1 = ε_2. (A term cut at 0
    needs ε_i ≥ 1 > ε.) The printed b_i = √2 gives 2 log(2/ε²).
    """

    epsilon: float = 0.1
    refutes = ("li2026/corollary-5.6",)
    story = "For two equal blocks the minimum is 4 log(2/ε); the corollary prints 2 log(2/ε²)."

    def inputs(self, statement: str) -> dict[str, float]:
        block = {"rank": 1.0, "C": 1.0, "weight": 1.0}
        both = {f"{part}.{name}": v for part in ("score", "inner") for name, v in block.items()}
        return both | {"X.op": 1.0, "epsilon": self.epsilon}

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs = self.inputs(statement)

        def least() -> bool:
            ε_1 = np.linspace(0, self.epsilon, 2001)[1:-1]
            values = -2 * np.log(ε_1) - 2 * np.log(self.epsilon - ε_1)
            return at_most(self.lower_bound(), float(values.min()))

        return (
            Premise("r_i, C_i, β_i ≥ 0 and ε > 0 (5.6)", lambda: min(inputs.values()) > 0),
            Premise(
                "ε_i ≤ ε < √r_i·B_X, so that each term is a log covering number, not negative",
                lambda: self.epsilon**2 < inputs["score.rank"] * inputs["X.op"] ** 2,
                frozenset({"X.op"}),
            ),
            Premise("no split of ε on a grid is better than the one in the proof", least),
        )

    def lower_bound(self) -> float:
        return 4 * math.log(2 / self.epsilon)

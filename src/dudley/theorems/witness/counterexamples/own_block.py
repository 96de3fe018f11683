"""What Lemma E.2 of trauger2024 misses: σ acts twice, and the first layer's tokens may be long."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.counterexamples.turned_head import perturbed, width_one
from dudley.theorems.witness.premises import Premise


@WITNESSES.register("sigma-twice")
@dataclass(frozen=True)
class SigmaTwice(Witness):
    """trauger2024, Lemma E.2 with the paper's own f, which already contains σ.

    One token x = 1 of R, W_QK = 0, σ(u) = 3u, W_c = 1/2, and W_v = 0.01 against Ŵ_v = 0.02. No
    projection is active: the outputs are 9·W_v/2, so they differ by 0.045, while the printed bound
    weighs the error 0.01 of W_v with L_σ B_c2 = 3·0.6.
    """

    refutes = ("trauger2024/lemma-E.2",)
    story = "For σ(u) = 3u the block as defined multiplies by 9; the printed lemma allows for 3."

    def inputs(self, statement: str) -> dict[str, float]:
        return {
            "W_QK.op": 0.0,
            "W_v.op": 0.02,
            "W_c.op": 0.6,
            "sigma.lipschitz": 3.0,
            "X.row2inf": 1.0,
            "error.rows": 0.0,
            "error.QK": 0.0,
            "error.v": 0.01,
            "error.c": 0.0,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        W, hat = (width_one(0.0, value, 0.5) for value in (0.01, 0.02))
        inputs, X = self.inputs(statement), np.ones((1, 1, 1))
        return perturbed(inputs, W, hat, X, 3.0, self.lower_bound())

    def lower_bound(self) -> float:
        return 9 * 0.5 * 0.01


@WITNESSES.register("long-tokens")
@dataclass(frozen=True)
class LongTokens(Witness):
    """trauger2024, Lemma E.2 for the first layer, tokens of norm R, σ = identity.

    Two tokens R and −R of R, W_v = 1/R, W_c = 1, and W_QK = 0 against Ŵ_QK = 1/R². The first
    output row is 0 against tanh(Ŵ_QK R²) = tanh 1, and no projection is active. The printed bound
    is 2 L_σ B_c2 B_v2 ‖zΔW_QK‖ = 2·(1/R)·(R/R²) = 2/R².
    """

    R: float = 4.0
    refutes = ("trauger2024/lemma-E.2",)
    story = (
        "With tokens ±R a change of W_QK by 1/R² turns the attention over, while the printed lemma "
        "allows a change of 2/R²."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {
            "W_QK.op": 1 / self.R**2,
            "W_v.op": 1 / self.R,
            "W_c.op": 1.0,
            "sigma.lipschitz": 1.0,
            "X.row2inf": self.R,
            "error.rows": 0.0,
            "error.QK": 1 / self.R,
            "error.v": 0.0,
            "error.c": 0.0,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        W, hat = (width_one(score, 1 / self.R, 1.0) for score in (0.0, 1 / self.R**2))
        inputs, X = self.inputs(statement), np.array([[[-self.R], [self.R]]])
        return perturbed(inputs, W, hat, X, 1.0, self.lower_bound())

    def lower_bound(self) -> float:
        return math.tanh(1.0)

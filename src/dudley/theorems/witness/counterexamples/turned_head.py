"""What the error decompositions of li2026 miss: long tokens, and the second σ."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Witness


@WITNESSES.register("turned-head")
@dataclass(frozen=True)
class TurnedHead(Witness):
    """li2026, (15), and (18) with L = 1: a small change of W_QK turns the attention over.

    Two tokens −R and R ([CLS]) of R¹, σ the identity, W_v = 1/R, W_c = w = 1, and W_QK = 0 against
    Ŵ_QK = 1/R². The [CLS] scores are 0, 0 against −1, 1, so its average of tokens is 0 against
    R·tanh 1, and the prediction 0 against tanh 1; no Π is active. The errors are
    ε_QK = R/R² = 1/R and 0 otherwise; both versions print 2B_wL_σB_cB_vε_QK = 2/R². (Read with the
    factor B_X = √2R of the display before (15), it is 2√2/R, still below tanh 1.)
    """

    R: float = 8.0
    refutes = ("li2026/equation-15", "li2026/equation-18")
    story = (
        "With tokens ±R a change of W_QK by 1/R² turns the attention over and moves the "
        "prediction by tanh 1, while the decomposition allows 2/R²."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        instance: dict[str, float] = {
            "W_v.l11": 1 / self.R,
            "W_c.l11": 1.0,
            "w.l2": 1.0,
            "sigma.lipschitz": 1.0,
            "X.row2inf": self.R,
            "error.QK": 1 / self.R,
            "error.v": 0.0,
            "error.c": 0.0,
            "error.w": 0.0,
        }
        return instance | ({"L": 1, "W_QK.l11": 1 / self.R**2} if statement.endswith("18") else {})

    def lower_bound(self) -> float:
        return math.tanh(1.0)


@WITNESSES.register("second-sigma")
@dataclass(frozen=True)
class SecondSigma(Witness):
    """li2026, (18) with L = 1 on a unit token, for the block (5), which applies σ twice.

    One token x = 1 of R¹, W_QK = 0, σ(u) = 3u, W_c = ½, w = 1, and W_v = 0.01 against Ŵ_v = 0.02.
    No Π is active, so the predictions are 3·½·3·W_v and differ by 0.045, while the printed bound is
    B_wL_σB_cε_v = 3·½·0.01.
    """

    refutes = ("li2026/equation-18",)
    story = "For σ(u) = 3u the block as defined multiplies by 9; the decomposition allows for 3."

    def inputs(self, statement: str) -> dict[str, float]:
        return {
            "L": 1,
            "W_QK.l11": 0.0,
            "W_v.l11": 0.02,
            "W_c.l11": 0.5,
            "w.l2": 1.0,
            "sigma.lipschitz": 3.0,
            "X.row2inf": 1.0,
            "error.QK": 0.0,
            "error.v": 0.01,
            "error.c": 0.0,
            "error.w": 0.0,
        }

    def lower_bound(self) -> float:
        return 9 * 0.5 * 0.01

"""Two networks that the printed covering number cannot tell apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise, at_most, attended, norms


@WITNESSES.register("two-members")
@dataclass(frozen=True)
class TwoMembers(Witness):
    """trauger2024, Theorem 4.2 with one block in which only W_v varies.

    d = 4, one token e_1, W_QK = 0, σ = identity, W_c = I/b, w = e_1, and W_v = ±b e_1e_1ᵀ from the
    class ‖W_v‖_{1,1} ≤ b, whose covers have log size C_1/ε² with C_1 = b² log(2d² + 1). The two
    outputs are ±1: no function is within ε = 0.9 of both, so log N(0.9) ≥ log 2. The printed
    bound has B_v2 = b where B_c2 = 1/b belongs, and tends to 0 with b.

    This reads C_1 per matrix: a constant for the class of each, here of W_v alone, as W_QK, W_c and
    w are fixed and need one centre (C = 0). If one class must hold every matrix, I/b with it, C_1
    grows as b falls and this instance shows nothing; ``many_heads.ManyHeads`` refutes the theorem
    in that reading.
    """

    b: float = 0.01
    refutes = ("trauger2024/theorem-4.2",)
    story = (
        "With W_v = ±b and W_c = 1/b the outputs are ±1 for every b, while the printed log cover, "
        "which weighs the error of W_v by B_v instead of B_c, tends to 0."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        C = self.b**2 * math.log(2 * 4**2 + 1)
        return {
            "L": 1,
            "W_QK.op": 0.0,
            "W_v.op": self.b,
            "W_c.op": 1 / self.b,
            "w.l2": 1.0,
            "sigma.lipschitz": 1.0,
            "X.row2inf": 1.0,
            "class.C": C,
            "class.C_input": C,
            "class.C_QK": 0.0,
            "class.C_c": 0.0,
            "class.C_w": 0.0,
            "epsilon": 0.9,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, unit, X = self.inputs(statement), np.eye(4), np.eye(4)[None, :1]
        e = unit[0]

        def member(sign: float) -> dict[str, np.ndarray]:
            value = sign * self.b * np.outer(e, e)
            return {"W_QK": 0 * unit, "W_v": value, "W_c": unit / self.b, "w": e}

        def apart() -> bool:
            outputs = [(attended(W, X) @ W["w"]).item() for W in map(member, (1.0, -1.0))]
            rows = [float(np.linalg.norm(attended(W, X))) for W in map(member, (1.0, -1.0))]
            return abs(outputs[0] - outputs[1]) > 2 * inputs["epsilon"] and max(rows) <= 1 + 1e-12

        def covers() -> bool:
            # Lemma 3.6 for ‖W_v‖_{1,1} ≤ b in R^{4×4}: C_1 = b² log(2·16 + 1)
            size = float(np.abs(member(1.0)["W_v"]).sum())
            return at_most(size, self.b) and math.isclose(
                inputs["class.C"], self.b**2 * math.log(33)
            )

        return (
            norms("spectral norms, ‖w‖₂ and tokens (4.2)", inputs, member(1.0) | {"X": X}),
            norms("the same for the other member (4.2)", inputs, member(-1.0) | {"X": X}),
            Premise("log N({x ↦ xW_v}) ≤ C_1/ε², by Lemma 3.6 (4.2; read for each matrix)", covers),
            Premise(
                "C_{B_x} = C_1 for B_x = 1", lambda: inputs["class.C_input"] >= inputs["class.C"]
            ),
            Premise("the members are more than 2ε apart, and no Π changes a row", apart),
        )

    def lower_bound(self) -> float:
        return math.log(2)

"""Maps into a line: the width of the inputs counts, though the rank is one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise, norms


@WITNESSES.register("fixed-subspace")
@dataclass(frozen=True)
class FixedSubspace(Witness):
    """li2026, Lemma B.6 with r = 1 and inputs of width k = 2: the class is a disc.

    V is the line of a unit vector q, W = q aᵀ with ‖W‖₂ = ‖a‖₂ ≤ 1, and the inputs are e_1 and e_2
    (B_x = 1): x ↦ Wx has the outputs a_1q and a_2q. A centre is within ε of the members with
    a_1 and a_2 in two intervals of length 2ε (a ball of radius ε cuts V in no more), a square of
    area 4ε². The disc has area π, so N(ε) ≥ π/(4ε²), proper or not: 79 at ε = 0.1, where the
    lemma prints (4/ε²)^{1/2} = 20. (Read with rows in V, W = a qᵀ: at the input q the outputs are
    the disc itself, and N(ε) ≥ 1/ε² = 100.)
    """

    epsilon: float = 0.1
    refutes = ("li2026/lemma-B.6",)
    story = (
        "Maps of R² into a line form a disc, which takes π/(4ε²) squares of side 2ε: 79 at "
        "ε = 0.1, where the lemma allows 20."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        sizes = {"k": 2, "subspace.dim": 1}
        return sizes | {"W.op": 1.0, "X.row2inf": 1.0, "epsilon": self.epsilon}

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs = self.inputs(statement)
        maps = [np.outer([0.6, 0.8], a) for a in self.packing()]  # q aᵀ, q = (0.6, 0.8)
        ε, B = self.epsilon, inputs["W.op"]
        return (
            Premise(
                "the columns of every W lie in V, of dimension r (B.6)",
                lambda: (
                    all(np.linalg.matrix_rank(np.column_stack([[0.6, 0.8], W])) == 1 for W in maps)
                    and inputs["subspace.dim"] == 1
                ),
            ),
            norms(
                "‖W‖₂ ≤ B_W and ‖x‖₂ ≤ B_x (B.6); the inputs are e_1 and e_2",
                inputs,
                {"W": np.array(maps), "X": np.eye(2)[:, None]},
            ),
            Premise(
                "members more than 2ε apart on an input are more than the lemma allows",
                lambda: math.log(len(maps)) > math.log(4 * B**2 / ε**2) / 2,
            ),
        )

    def lower_bound(self) -> float:
        return math.log(math.ceil(math.pi / (4 * self.epsilon**2)))

    def packing(self) -> np.ndarray:
        """Points a of the disc, more than 2ε apart in one of the coordinates: (m, 2)."""
        grid = np.arange(-1.0, 1.0, 2.1 * self.epsilon)
        points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
        return points[(points**2).sum(axis=1) <= 1]

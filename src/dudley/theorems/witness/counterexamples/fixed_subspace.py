"""Maps of rank one fill balls: what rank-based covers cost in one direction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness, log_volume_ratio

WIDTHS = tuple(2**e for e in range(3, 13))


@WITNESSES.register("ball-of-rank-one")
@dataclass(frozen=True)
class BallOfRankOne(Witness):
    """li2026, Assumption 5.7 for inputs of width 1: the class is the unit ball of R^k.

    d = 1, so W is a row of R^{1×k}, of rank ≤ 1 and spectral norm ‖W‖₂ ≤ 1; at the one input x = 1
    the outputs are the rows W themselves. Balls of radius ε that cover the unit ball of R^k have at
    least its volume together, so N(ε) ≥ ε^{−k}: at ε = ½, log N ≥ k log 2. (The same class, padded
    with zeros, lies in every d×k.)

    The printed value is C_1·log 4, whatever k is. Rank, norms and ε are fixed, so only a C_1 that
    grows like k would do: a constant that depends on the dimension is what the statement denies.
    """

    k: int = 64
    refutes = ("li2026/assumption-5.7",)
    story = (
        "The outputs of maps of rank one at one input fill a ball of R^k: log N(½) ≥ k log 2, "
        "while C_1·r·log(rB²/ε²) = C_1·log 4 does not know k."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        sizes = {"d": 1, "k": self.k, "W.rank": 1}
        return sizes | {"W.op": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}

    def lower_bound(self) -> float:
        return log_volume_ratio(self.k, 2.0)

    def family(self) -> Family:
        """k → ∞, everything else fixed: the ratio grows like k."""
        lower = [log_volume_ratio(k, 2.0) for k in WIDTHS]
        return Family(WIDTHS, lower, [math.log(4)] * len(WIDTHS), "k")


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

    def lower_bound(self) -> float:
        return math.log(math.ceil(math.pi / (4 * self.epsilon**2)))

    def packing(self) -> np.ndarray:
        """Points a of the disc, more than 2ε apart in one of the coordinates: (m, 2)."""
        grid = np.arange(-1.0, 1.0, 2.1 * self.epsilon)
        points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
        return points[(points**2).sum(axis=1) <= 1]

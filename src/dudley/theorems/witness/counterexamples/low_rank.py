"""Heads and blocks of rank one against the rank-based bounds: without noise, and in width one.

Two instances, because two things are wrong. One-hot inputs need no noise, and refute every constant
C_1 that does not grow with the width; a loaded coin lives in width one, where a constant is a
constant, and refutes what remains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Family
from dudley.theorems.witness.counterexamples.label_noise import LabelNoise
from dudley.theorems.witness.counterexamples.one_hot import OneHotRankOne

RANK_BASED = ("li2026/theorem-5.8", "li2026/theorem-B.4", "li2026/theorem-B.5")


def printed_stack(n: float, M: float, c: float) -> float:
    """Theorem 5.8 at its best δ for L = 1, κ and all norms 1 (B_QK = 0), ranks 1, M = B + B_w.

    The weights are 1, 1, 1 and 2, so the b_i² are 4, 4, 4 and 8: with log-cover c·log(512/δ⁸) the
    minimum of (4M/n)(1 + c·log(512/δ⁸)) + 8δ is at δ = 4Mc/n.
    """
    δ = 4 * M * c / n
    return 4 * M / n * (1 + c * (math.log(512) - 8 * math.log(δ))) + 8 * δ


def own_size(statement: str) -> dict[str, float]:
    """One block or one head."""
    return {"5.8": {"L": 1.0}, "B.5": {"H": 1.0}}.get(statement.rpartition("-")[2], {})


@WITNESSES.register("one-hot-low-rank")
@dataclass(frozen=True)
class OneHotLowRank(OneHotRankOne):
    """li2026, Theorems 5.8, B.4 and B.5 on the one-hot inputs of :class:`OneHotRankOne`.

    All ranks are 1 and all norms at most 1, whatever n is, so with C_1 free of the dimensions the
    printed values are O(C_1·log n/n), or O(log log n/n) in B.4 and B.5, against 1/(2√n): the ratio
    grows like √n/log n for every value of C_1. The width is 2n, so a constant proportional to the
    width could absorb this in Theorem 5.8 (and makes it trivial). It cannot in B.4 and B.5, which
    print the logarithm of N_rank: with C_1 proportional to n they are still O(log n/n).
    """

    refutes = RANK_BASED
    story = (
        "Matrices of rank one, one-hot tokens in 2n coordinates, labels 0 without noise: the value "
        "matrix is spread over the unseen half, so the excess risk is at least 1/(2√n), while "
        "ranks and norms stay 1."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return super().inputs(statement) | own_size(statement)

    def family(self, c: float = 1.0) -> Family:
        """n → ∞ against Theorem 5.8, the largest of the three for c ≥ 1."""
        sizes = tuple(10**e for e in range(7, 15))
        lower = [type(self)(n).lower_bound() for n in sizes]
        return Family(sizes, lower, [printed_stack(n, 1.0, c) for n in sizes], "n")


@WITNESSES.register("label-noise-low-rank")
@dataclass(frozen=True)
class LabelNoiseLowRank(LabelNoise):
    """li2026, Theorems 5.8, B.4 and B.5 for the constants of :class:`LabelNoise`.

    T = d = k = 1: matrices are numbers in [−1, 1], of rank ≤ 1, and W_QK = 0. The excess risk is
    4h·P(Bin(n, ½ + h) < n/2), about 0.34/√n, and the printed values are O(C_1·log n/n). No width
    grows, so C_1 is one number, whatever it may depend on; the ratio grows like √n/log n.
    """

    n: int = 100_000_001
    refutes = RANK_BASED
    story = (
        "Constant predictors, labels ±1 from a coin with bias 0.375/√n, absolute loss: the excess "
        "risk of the minimiser is 0.34/√n in width one, where all ranks and norms are 1."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        instance: dict[str, float] = {
            "n": self.n,
            "kappa": 1.0,
            "target.bound": 1.0,
            "w.l2": 1.0,
            "d": 1,
            "k": 1,
        }
        instance |= {"r_QK": 1, "r_v": 1, "r_c": 1, "W_QK.op": 0.0, "W_v.op": 1.0, "W_c.op": 1.0}
        return instance | {"sigma.lipschitz": 1.0, "X.op": 1.0} | own_size(statement)

    def family(self, c: float = 1.0) -> Family:
        """n → ∞ against Theorem 5.8, the largest of the three for c ≥ 1."""
        sizes = tuple(10**e + 1 for e in range(7, 13))
        lower = [type(self)(n).lower_bound() for n in sizes]
        return Family(sizes, lower, [printed_stack(n, 2.0, c) for n in sizes], "n")

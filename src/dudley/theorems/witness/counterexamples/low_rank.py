"""A loaded coin in width two, against the rank-based bounds: ranks, norms and C_1 are fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Family
from dudley.theorems.witness.counterexamples.label_noise import LabelNoise
from dudley.theorems.witness.premises import Premise, norms, ranks
from dudley.theorems.witness.rank_constants import rank_covering, serving

RANK_BASED = ("li2026/theorem-5.8", "li2026/theorem-B.4", "li2026/theorem-B.5")
RANKS = {"r_QK": 2.0, "r_v": 2.0, "r_c": 2.0}
SPECTRAL = {"W_QK.op": 1.0, "W_v.op": 1.0, "W_c.op": 1.0, "w.l2": 1.0, "sigma.lipschitz": 1.0}
C_1 = serving(2, 2)  # = 12; 6 would do


def stack_size(statement: str) -> dict[str, float]:
    """One block, or one head."""
    return {"5.8": {"L": 1.0}, "B.5": {"H": 1.0}}.get(statement.rpartition("-")[2], {})


def printed_stack(n: float, C: float) -> float:
    """Theorem 5.8 at its best δ for L = 1, norms 1, ranks 1 (w) and 2, κ(B + B_w) = 2, C_i = C.

    The weights β are 1, 5, 5 and 10 (α_1 = 1 + 4B_QK = 5), b_i² = 7β_i/r_i, so the log-cover is
    C(a − 14·log δ) with a = Σ r_i log(7β_i/r_i), and the minimum is at δ = 14C/n.
    """
    δ = 14 * C / n
    a = sum(r * math.log(7 * β / r) for r, β in ((1, 1), (2, 5), (2, 5), (2, 10)))
    return 8 / n * (1 + C * (a - 14 * math.log(δ))) + 8 * δ


@WITNESSES.register("label-noise-low-rank")
@dataclass(frozen=True)
class LabelNoiseLowRank(LabelNoise):
    """li2026, Theorems 5.8, B.4 and B.5 for the constants of :class:`LabelNoise`, in width 2.

    T = 1, d = k = 2 and x = e_1. The class is that of all 2×2 matrices W_QK, W_v, W_c of spectral
    norm ≤ 1, all of rank ≤ 2, and ‖w‖₂ ≤ 1; σ is the identity. With one token the softmax is 1, so
    the prediction is e_1ᵀW_vW_cw ∈ [−1, 1], and W_v = W_c = I, w = c·e_1 gives every constant. So
    on the only input the class is that of the constants, the minimiser is the majority of the
    labels, and the excess risk is 4h·P(Bin(n, ½ + h) < n/2), about 0.34/√n.

    Assumption 5.7, a hypothesis, holds for every ε < B_xB_W with C_1 = 12, and already with 6
    (``rank_constants``): the ranks are 2, where rank 1 would not do, as for r = 1 the right-hand
    side tends to 0 with ε → B_xB_W. The printed values are O(C_1·log n/n) and nothing but n grows,
    so the ratio grows like √n/log n, whatever the constants are. The paper does not name a rank of
    w; with r_w = 1, as here, the printed value at C_1 = 12 is larger than with r_w = 2 at C_1 = 6.
    """

    n: int = 100_000_000_001
    refutes = RANK_BASED
    story = (
        "Constant predictors, labels ±1 from a coin with bias 0.375/√n, absolute loss: the excess "
        "risk of the minimiser is 0.34/√n in width two, where all norms are 1 and all ranks at "
        "most 2, so that Assumption 5.7 holds with C_1 = 12 for every n."
    )
    width = 2

    def inputs(self, statement: str) -> dict[str, float]:
        task: dict[str, float] = {"n": self.n, "kappa": 1.0, "target.bound": 1.0, "d": 2, "k": 2}
        return task | RANKS | SPECTRAL | {"X.op": 1.0, "c": C_1} | stack_size(statement)

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs = self.inputs(statement)
        return (
            *self.learning(inputs),
            norms("spectral norms, ‖w‖₂, ‖X‖₂ (4.1, 4.9, 5.5)", inputs, self.parts(inputs)),
            ranks("ranks are at most r_v, r_c, r_QK (5.5)", inputs, self.weights()),
            rank_covering(inputs),
        )

    def family(self, c: float = C_1) -> Family:
        """n → ∞ against Theorem 5.8, the largest of the three for c ≥ 1."""
        sizes = tuple(10**e + 1 for e in range(9, 14))
        lower = [type(self)(n).lower_bound() for n in sizes]
        return Family(sizes, lower, [printed_stack(n, c) for n in sizes], "n")

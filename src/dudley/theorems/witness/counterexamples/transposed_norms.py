"""One-hot tokens and a value matrix that follows every sign: rows are small, the column is not."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Family, Witness

TINY = 1e-12  # the norm of W_QK


@WITNESSES.register("transposed-norms")
@dataclass(frozen=True)
class TransposedNorms(Witness):
    """trauger2024, Theorem 4.1 and its corollaries: σ = identity, k = 1, n = 2d, W_QK as good as 0.

    The class of W_QK is a ball of radius b = 10⁻¹² (at 0 the printed α·ln(1/α) is only a limit),
    in ‖·‖_{1,1} for 4.1, where C = (2bB_x)² log(2d² + 1) serves every part of that ball
    with members as centres. It holds W_QK = 0, and a part of the class bounds Rad from below.

    Example i has the two tokens e_j and x_cls = 0, each j for two of the n = 2d examples; with
    W_QK = 0 the attention average is e_j/2. Let W_v ∈ {−1, 1}^{d×1}, W_c = e_1ᵀ ∈ R^{1×d}, w = e_1:
    every row of W_v and W_c has ℓ1 norm 1, which is what the printed hypotheses ask. With s_j the
    sum of the two random signs of token j,

        Rad ≥ (1/n) E max_{W_v} Σ_j s_j (W_v)_j/2 = (1/n) Σ_j E|s_j|/2 = (1/2d)·d·(1/2) = 1/4,

    as E|s_j| = 1. The printed bound is B_x√(ln(2d)/2d), and a term below 10⁻⁹ for W_QK.
    (B_x = 1.01, since ‖x‖ < B_x is asked.)
    """

    d: int = 256
    refutes = (
        "trauger2024/theorem-4.1",
        "trauger2024/corollary-4.1.1",
        "trauger2024/corollary-D.0.1",
        "trauger2024/corollary-D.0.2",
    )
    story = (
        "A value matrix with one column of signs has rows of ℓ1 norm 1 and follows all d one-hot "
        "tokens at once: the complexity stays 1/4 while the printed bound falls like √(log d/d)."
    )
    B_x = 1.01

    def inputs(self, statement: str) -> dict[str, float]:
        C = (2 * TINY * self.B_x) ** 2 * math.log(2 * self.d**2 + 1)
        norms = {
            "4.1": {"X.row2inf": self.B_x, "class.C": C},
            "4.1.1": {"X.row2inf": self.B_x, "W_QK.l11": TINY},
            "D.0.1": {"X.row1inf": self.B_x, "W_QK.col1inf": TINY},
            "D.0.2": {"X.row1inf": self.B_x, "W_QK.col21": TINY},
        }
        return norms[statement.rpartition("-")[2]] | {
            "n": 2 * self.d,
            "d": self.d,
            "k": 1,
            "T": 2,
            "w.l1": 1.0,
            "W_c.row1inf": 1.0,
            "W_v.row1inf": 1.0,
            "sigma.lipschitz": 1.0,
        }

    def lower_bound(self) -> float:
        return 0.25

    def family(self) -> Family:
        """The ratio grows like √(d/log d); the printed values without the term of W_QK."""
        sizes = [4**e for e in range(4, 10)]
        printed = [self.B_x * math.sqrt(math.log(2 * d) / (2 * d)) for d in sizes]
        return Family(sizes, [0.25] * len(sizes), printed, "d")

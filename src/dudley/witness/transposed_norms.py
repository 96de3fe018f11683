"""One-hot tokens and a value matrix that follows every sign: rows are small, the column is not."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.witness.base import WITNESSES, Family, Witness


@WITNESSES.register("transposed-norms")
@dataclass(frozen=True)
class TransposedNorms(Witness):
    """trauger2024, Theorem 4.1 and its corollaries: W_QK = 0, σ = identity, k = 1, n = 2d.

    Example i has the two tokens e_j and x_cls = 0, each j for two of the n = 2d examples; the
    attention average is e_j/2. Let W_v ∈ {−1, 1}^{d×1}, W_c = e_1ᵀ ∈ R^{1×d}, w = e_1: every row of
    W_v and W_c has ℓ1 norm 1, which is what the printed hypotheses ask. With s_j the sum of the
    two random signs of token j,

        Rad ≥ (1/n) E max_{W_v} Σ_j s_j (W_v)_j/2 = (1/n) Σ_j E|s_j|/2 = (1/2d)·d·(1/2) = 1/4,

    as E|s_j| = 1. The printed bound is B_x√(ln(2d)/2d). (B_x = 1.01, since ‖x‖ < B_x is asked.)
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

    def inputs(self, statement):
        own = {
            "4.1": {"X.row2inf": self.B_x, "class.C": 0.0},
            "4.1.1": {"X.row2inf": self.B_x, "W_QK.l11": 0.0},
            "D.0.1": {"X.row1inf": self.B_x, "W_QK.col1inf": 0.0},
            "D.0.2": {"X.row1inf": self.B_x, "W_QK.col21": 0.0},
        }
        return own[statement.rpartition("-")[2]] | {
            "n": 2 * self.d,
            "d": self.d,
            "k": 1,
            "T": 2,
            "w.l1": 1.0,
            "W_c.row1inf": 1.0,
            "W_v.row1inf": 1.0,
            "sigma.lipschitz": 1.0,
        }

    def lower_bound(self):
        return 0.25

    def family(self) -> Family:
        """The ratio grows like √(d/log d)."""
        sizes = [4**e for e in range(4, 10)]
        printed = [self.B_x * math.sqrt(math.log(2 * d) / (2 * d)) for d in sizes]
        return Family(sizes, [0.25] * len(sizes), printed)

"""One-hot tokens and a value matrix that follows every sign: rows are small, the column is not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.premises import Premise, attended, norms

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

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        d, inputs = self.d, self.inputs(statement)
        signs = np.where(np.arange(d) % 3 == 0, 1.0, -1.0)[:, None]
        W = {"W_QK": np.zeros((d, d)), "W_v": signs, "W_c": np.eye(d)[:1], "w": np.eye(d)[0]}
        X = np.zeros((d, 2, d))
        X[:, 0] = np.eye(d)  # e_j and [CLS] = 0; each j is the input of two examples
        bounded = {name.partition(".")[0] for name in inputs}
        parts = {name: part for name, part in (W | {"X": X}).items() if name in bounded}
        C = inputs.get("class.C", 0.0)
        return (
            norms("‖w‖₁, ‖W_cᵀ‖_{1,∞}, ‖W_vᵀ‖_{1,∞}, W_QK and tokens (4.1)", inputs, parts),
            Premise(
                "‖x‖ < B_x (4.1)",
                lambda: bool((np.abs(X).sum(axis=2) < self.B_x).all()),
            ),
            Premise(
                "log N({x ↦ xW_QK}) ≤ C/ε², by Lemma 3.6 for ‖W_QK‖_{1,1} ≤ b (4.1)",
                lambda: C == 0 or (TINY * self.B_x) ** 2 * math.log(2 * d**2 + 1) <= C,
            ),
            Premise(
                "m > d and m > ln 2d (4.1)",
                lambda: inputs["n"] > d and inputs["n"] > math.log(2 * d),
            ),
            Premise(
                "the heads follow every sign: the output on input j is (W_v)_j/2",
                lambda: np.allclose(attended(W, X) @ W["w"], signs[:, 0] / 2),
            ),
        )

    def lower_bound(self) -> float:
        return 0.25

    def family(self) -> Family:
        """The ratio grows like √(d/log d); the printed values without the term of W_QK."""
        sizes = [4**e for e in range(4, 10)]
        printed = [self.B_x * math.sqrt(math.log(2 * d) / (2 * d)) for d in sizes]
        return Family(sizes, [0.25] * len(sizes), printed, "d")

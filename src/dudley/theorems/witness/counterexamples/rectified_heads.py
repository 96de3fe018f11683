"""The 2^(p²) sign heads through a ReLU: every pattern of zeros and ones on p² inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.counterexamples.many_heads import SIZES, SMALL, SignHeads
from dudley.theorems.witness.premises import Premise, attended, norms

RESOLUTION = 0.45


def printed(p: int) -> float:
    """mwigo2026, Lemma 6 for the heads: 4(1 + p^{−1/3})³ log(3p²)/ε²."""
    return 4 * (1 + p ** (-1 / 3)) ** 3 * math.log(3 * p**2) / RESOLUTION**2


@WITNESSES.register("rectified-heads")
@dataclass(frozen=True)
class RectifiedHeads(Witness):
    """mwigo2026, Lemma 6, for the heads of :class:`SignHeads` with d = d_m = 2p + 1.

    In the paper's orientation, where matrices act as Wx: Θ = W_QKᵀ, W_V = (2/s)vvᵀ, w_O = v, and i
    is the last of the three tokens, the query. The attention output on input (a, b) is S_abτ·v, so
    after the ReLU w_O·relu(S_abτ·v) is τ where S_ab = 1 and 0 where S_ab = −1. Two patterns are τ
    apart on some input, and τ > 0.9999: at ε = 0.45 < τ/2 no function is within ε of two of them,
    so log N(ε) ≥ p² log 2 on these N = p² inputs.

    Norms: ‖w_O‖ = 1, ‖W_V‖₂ = ‖W_V‖_{2,1} = 2/s, B_X = s = p√20; the p columns of Θ (and its p
    rows) have norm p^{−3/2}, so ‖Θ‖_{2,1} = p^{−1/2}. As d_m = d, Θ = W_KᵀW_Q/√d_m for
    W_K = √d_m·I, W_Q = Θ. Read with scores W_KᵀW_Q, without 1/√d_m, the class is larger still.
    Printed is c·B_X²(‖W_V‖_{2,1}^{2/3} + (‖Θ‖_{2,1}‖W_V‖₂)^{2/3})³ log(3p²)/ε², of order log p.
    What "≲" hides, logarithms of norms and dimensions, are here powers of log p.
    """

    p: int = 10_000
    refutes = ("mwigo2026/lemma-6",)
    story = (
        "With long tokens score matrices of norm below 1 realise all 2^m patterns of attention on "
        "m = p² inputs in width 2p + 1; through the ReLU the outputs are 0 or 1, and the log "
        "covering number is m log 2, not of order log m."
    )

    @property
    def heads(self) -> SignHeads:
        return SignHeads(self.p)

    def inputs(self, statement: str) -> dict[str, float]:
        heads = self.heads
        return {
            "n": self.p**2,
            "T": 3,
            "d": heads.d,
            "k": heads.d,
            "X.row2inf": heads.s,
            "w.l2": 1.0,
            "W_v.op": 2 / heads.s,
            "W_v.row21": 2 / heads.s,
            "W_v.col21": 2 / heads.s,
            "W_QK.row21": self.p**-0.5,
            "epsilon": RESOLUTION,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        """At p = 3: 2^9 heads in width 7 on nine inputs."""
        small = RectifiedHeads(SMALL)
        heads, inputs = small.heads, small.inputs(statement)
        W, X = heads.weights(np.ones(SMALL**2)), heads.tokens()
        d_m = heads.d
        parts = {"W_QK": W["W_QK"], "W_v": W["W_v"], "w": W["w"], "X": X}

        def realised() -> bool:
            for signs in heads.patterns():
                V = heads.weights(signs)
                hidden = attended({"W_QK": V["W_QK"], "W_v": V["W_v"]}, X)
                outputs = np.maximum(hidden, 0.0) @ V["w"]
                if not np.allclose(outputs, heads.τ * (signs > 0), atol=1e-12):
                    return False
            return True

        def factors() -> bool:
            W_K, W_Q = math.sqrt(d_m) * np.eye(d_m), W["W_QK"].T
            return np.allclose(W_K.T @ W_Q / math.sqrt(d_m), W["W_QK"].T)

        return (
            norms("‖W_V‖_{2,1}, ‖W_V‖₂, ‖Θ‖_{2,1}, ‖w_O‖ and tokens ≤ B_X (6)", inputs, parts),
            Premise("Θ = W_KᵀW_Q/√d_m, and d = d_m (section 4)", factors),
            Premise(
                "N inputs of d_s tokens of R^d (6)",
                lambda: X.shape == (inputs["n"], inputs["T"], inputs["d"]),
            ),
            Premise("every pattern of zeros and ones has its head", realised),
            Premise("ε < τ/2", lambda: 0 < inputs["epsilon"] < heads.τ / 2),
        )

    def lower_bound(self) -> float:
        return self.heads.log_count

    def family(self) -> Family:
        """p → ∞: the ratio grows like p²/log p."""
        truths = [SignHeads(p).log_count for p in SIZES]
        return Family(SIZES, truths, [printed(p) for p in SIZES], "p")

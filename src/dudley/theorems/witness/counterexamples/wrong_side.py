"""An ℓ2 ball of R^k hides behind a sum of column norms taken on the wrong side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, FormalProof, Witness, log_volume_ratio
from dudley.theorems.witness.premises import Premise, norms


@WITNESSES.register("wrong-side")
@dataclass(frozen=True)
class WrongSide(Witness):
    """trauger2024, Lemmas 3.4 and 3.5 with one input coordinate.

    For x ↦ Wx with W ∈ R^{k×1} the printed norm ‖W‖_{2,1} (a sum over columns) is ‖w‖₂, and on
    the input x = B_x the class is the ℓ2 ball of radius B_w B_x of R^k. By volume
    log N(ε) ≥ k log(B_w B_x/ε), while the printed bound is (B_w B_x/ε)² log(dk), or log(dn) with
    any number n of points; here n = k.
    """

    k: int = 10_000
    refutes = ("trauger2024/lemma-3.4", "trauger2024/lemma-3.5")
    story = (
        "With one input coordinate the printed norm is the ℓ2 norm of a vector of R^k, and a ball "
        "of R^k needs k log 2 nats at half its radius, not 4 log k."
    )

    formal = dict.fromkeys(
        refutes,
        FormalProof(
            "WrongSide.v",
            "wrong_side",
            "false whatever the constant: at k = 4^(C + 2) a cover has more than k^C centres",
        ),
    )

    def inputs(self, statement: str) -> dict[str, float]:
        common = {"d": 1, "k": self.k, "W.row21": 1.0, "epsilon": 0.5}
        if statement.endswith("3.4"):
            return common | {"X.row1inf": 1.0}
        return common | {"X.row2inf": 1.0, "n": self.k}

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs = self.inputs(statement)
        W = np.random.default_rng(0).normal(size=(1, self.k))  # acts as x ↦ xW
        W /= np.linalg.norm(W)
        return (
            norms(
                "‖W‖_{2,1} ≤ B_w, the sum over the columns of a k×1 matrix, and ‖x‖ ≤ B_x (3.4, "
                "3.5); a member of norm 1",
                inputs,
                {"W": W, "X": np.ones((1, 1, 1))},
            ),
            Premise("N > d points (3.4)", lambda: inputs.get("n", self.k) > inputs["d"]),
            Premise(
                "at the input 1 the outputs are the members: a ball of R^k",
                lambda: bool((np.ones((1, 1)) @ W == W).all()),
            ),
        )

    def lower_bound(self) -> float:
        return log_volume_ratio(self.k, 2.0)

    def family(self) -> Family:
        """The ratio grows like k/log k."""
        sizes = [10**e for e in range(2, 8)]
        truth = [WrongSide(k).lower_bound() for k in sizes]
        return Family(sizes, truth, [4 * math.log(k) for k in sizes], "k")

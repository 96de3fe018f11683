"""A large readout: heads with every sign pattern, read out with a weight the bound forgets."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.counterexamples.shattered_scores import RESOLUTION, SHARPNESS

SIZES = (10, 30, 100, 300, 1000)


def layer_terms(p: int) -> float:
    """The sum that Theorem A.17 adds to B_w^{2/3} for the one layer of the instance."""
    d = k = 3 * p
    return (d ** (2 / 3)) + (2 * d * SHARPNESS * math.sqrt(p)) ** (2 / 3) + k ** (2 / 3)


def readout(p: int) -> float:
    """B_w so large that the layer's terms are a hundredth of B_w^{2/3}."""
    return (100 * layer_terms(p)) ** 1.5


@WITNESSES.register("large-readout")
@dataclass(frozen=True)
class LargeReadout(Witness):
    """edelman2021, Theorem A.17 for one block, the heads of ``shattered_scores`` at s = 1.

    d = k = 3p: tokens ±(f_b + v)/√2 and the query e_a, all of norm 1; W_QK = ρ Σ S_ab e_a f_bᵀ,
    which is W_QW_Kᵀ for W_Q = W_QK and W_K = I ∈ R^{d×k}, with rows and columns of norm ρ√p and
    spectral norm at most ρp; W_V = v e_1ᵀ (‖v‖ = 1), W_C = e_1e_1ᵀ, with rows and columns of norm
    at most 1; σ = id, w = B_w e_1. No row is longer than 1, so both Π_norm leave it alone, and the
    network's output on input (a, b) is 0.70·S_ab·B_w. At ε = B_w/2 all 2^{p²} patterns are apart on
    n = p² inputs: log N(ε) ≥ p² log 2. Printed: (log(nT)/ε²)(B_w^{2/3} + S)³ with S free of B_w,
    which is 4(1.01)³ log(3p²) for B_w^{2/3} = 100·S.
    """

    p: int = 100
    refutes = ("edelman2021/theorem-A.17",)
    story = (
        "With B_w large and ε = B_w/2 the printed value tends to 4·log(mT), while a single block "
        "has all sign patterns on p² inputs."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        p = self.p
        return {
            "d": 3 * p,
            "k": 3 * p,
            "L": 1,
            "n": p * p,
            "T": 3,
            "X.row2inf": 1.0,
            "sigma.lipschitz": 1.0,
            "W_QK.op": SHARPNESS * p,
            "W_QK.row2inf": SHARPNESS * math.sqrt(p),
            "W_v.op": 1.0,
            "W_v.col2inf": 1.0,
            "W_c.op": 1.0,
            "W_c.col2inf": 1.0,
            "w.l2": readout(p),
            "epsilon": RESOLUTION * readout(p),
        }

    def lower_bound(self) -> float:
        return self.p**2 * math.log(2)

    def family(self) -> Family:
        """p → ∞ with B_w as above."""
        printed = [
            math.log(3 * p**2) / RESOLUTION**2 * (1 + layer_terms(p) / readout(p) ** (2 / 3)) ** 3
            for p in SIZES
        ]
        return Family(SIZES, [p**2 * math.log(2) for p in SIZES], printed, "p")

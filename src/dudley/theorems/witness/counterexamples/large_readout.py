"""A large readout: heads with every sign pattern, read out with a weight the bound forgets."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.counterexamples.shattered_scores import (
    RESOLUTION,
    SHARPNESS,
    SMALL,
    tokens,
    value_reached,
)
from dudley.theorems.witness.premises import Premise, attended, norms

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

    def weights(self, signs: np.ndarray) -> dict[str, np.ndarray]:
        """W_QK, W_v, W_c and w for one pattern of p×p signs. For small p."""
        p = self.p
        unit = np.eye(3 * p)
        W_QK, v = np.zeros((3 * p, 3 * p)), np.zeros(3 * p)
        W_QK[:p, p : 2 * p] = SHARPNESS * signs
        v[2 * p :] = 1 / math.sqrt(p)
        readout_vector = readout(p) * unit[0]
        matrices = {"W_v": np.outer(v, unit[0]), "W_c": np.outer(unit[0], unit[0])}
        return {"W_QK": W_QK, "w": readout_vector} | matrices

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        """At p = 3: heads in width 9 on nine inputs."""
        small = LargeReadout(SMALL)
        inputs, X = small.inputs(statement), tokens(SMALL, 1.0)
        W = small.weights(np.ones((SMALL, SMALL)))

        def realises() -> bool:
            for signs in np.random.default_rng(0).choice([-1.0, 1.0], size=(20, SMALL, SMALL)):
                V = small.weights(signs)
                rows = attended(V, X)
                expected = value_reached() * signs.ravel() * inputs["w.l2"]
                if (
                    not np.allclose(rows @ V["w"], expected)
                    or np.linalg.norm(rows, axis=1).max() > 1
                ):
                    return False
            return True

        return (
            norms("norms of W_QK, W_V, W_C, w and tokens (A.17)", inputs, W | {"X": X}),
            Premise(
                "n inputs of T tokens of R^d (A.17)",
                lambda: X.shape == (inputs["n"], inputs["T"], inputs["d"]),
            ),
            Premise("every pattern of signs has its network; no Π changes a row", realises),
            Premise(
                "ε is below half the distance of two networks",
                lambda: 0 < inputs["epsilon"] < value_reached() * inputs["w.l2"],
            ),
        )

    def lower_bound(self) -> float:
        return self.p**2 * math.log(2)

    def family(self) -> Family:
        """p → ∞ with B_w as above."""
        printed = [
            math.log(3 * p**2) / RESOLUTION**2 * (1 + layer_terms(p) / readout(p) ** (2 / 3)) ** 3
            for p in SIZES
        ]
        return Family(SIZES, [p**2 * math.log(2) for p in SIZES], printed, "p")

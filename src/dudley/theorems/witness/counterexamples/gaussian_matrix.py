"""A Gaussian matrix is longer in Frobenius norm than its matrix variance tells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise


@WITNESSES.register("gaussian-matrix")
@dataclass(frozen=True)
class GaussianMatrix(Witness):
    """li2026, (9) of Assumption 6.2: m² independent entries N(0, s²), T = d = m.

    E XᵀX = E XXᵀ = ms²·I, so ν(X) = ms². ‖X‖_F² = s²·χ² with m² degrees of freedom, so
    P(‖X‖_F ≥ t) is exact. At t = 0.9·ms, below the mean, it is nearly 1; (9) says
    2m·exp(−0.81/(2s²)), and with ν in place of ν² it says 2m·exp(−0.405·m).
    """

    m: int = 20
    s: float = 0.05
    refutes = ("li2026/assumption-6.2",)
    story = (
        "A 20×20 matrix of independent Gaussians of deviation 0.05: ‖X‖_F is above 0.9 with "
        "probability 0.998, where (9) says next to nothing, whether ν or ν² stands in the exponent."
    )

    @property
    def level(self) -> float:
        return 0.9 * self.m * self.s

    def inputs(self, statement: str) -> dict[str, float]:
        sizes = {"T": self.m, "d": self.m}
        return sizes | {"tail.nu": self.m * self.s**2, "truncation": self.level}

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        m, inputs = self.m, self.inputs(statement)

        def variance() -> bool:
            # E XᵀX and E XXᵀ are sums of the covariances of the rows and of the columns
            left = sum(self.s**2 * np.eye(m) for _ in range(m))
            return bool(np.isclose(np.linalg.norm(left, 2), inputs["tail.nu"]))

        def sampled() -> bool:
            X = np.random.default_rng(0).normal(0.0, self.s, (2000, m, m))
            ν = float(np.linalg.norm(np.einsum("nij,nik->jk", X, X) / len(X), 2))
            share = float((np.linalg.norm(X, axis=(1, 2)) >= self.level).mean())
            return abs(ν / inputs["tail.nu"] - 1) < 0.1 and abs(share - self.lower_bound()) < 0.01

        return (
            Premise("ν(X) is the larger norm of E XᵀX and E XXᵀ (6.2)", variance),
            Premise("ν(X) and P(‖X‖_F ≥ t) are those of 2,000 matrices, up to noise", sampled),
            Premise("t > 0 (6.2)", lambda: inputs["truncation"] > 0),
        )

    def lower_bound(self) -> float:
        return float(chi2.sf((self.level / self.s) ** 2, self.m**2))

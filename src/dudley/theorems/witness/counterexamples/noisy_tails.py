"""A loaded coin behind a truncation: where no width grows, no constant can hide the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.networks.robust import LogTruncation
from dudley.theorems.witness.base import WITNESSES, Family
from dudley.theorems.witness.counterexamples.label_noise import LabelNoise, absolute
from dudley.theorems.witness.counterexamples.low_rank import C_1, RANKS, SPECTRAL
from dudley.theorems.witness.counterexamples.unseen_tails import (
    BETA,
    heavy_tail,
    norm_based,
    rank_based,
    robust,
    sub_gaussian,
    unchanged,
)
from dudley.theorems.witness.premises import Premise, norms, ranks
from dudley.theorems.witness.rank_constants import rank_covering

SIZES = tuple(10**e + 1 for e in range(7, 13))
NOISY_SIZES = tuple(10**e + 1 for e in range(9, 14))


@WITNESSES.register("noisy-sub-gaussian")
@dataclass(frozen=True)
class NoisySubGaussian(LabelNoise):
    """li2026, Theorems 6.4, 6.5, 6.6 and Remark 6.7 for the constants of :class:`LabelNoise`.

    T = d = k = 1 and X = 1, so ν(X) = 1, and (9) holds with it: 2e^{−1/2} ≥ 1 up to t = 1, and
    beyond the probability is 0. W_QK = 0, all other norms are 1. At M = 2√log n ≥ 1 truncation
    changes nothing, and T_err is 2cκ/n². The excess risk is 4h·P(Bin(n, ½ + h) < n/2), about
    0.34/√n; printed is of order log n/n. No dimension and no norm grows, so what is hidden is one
    number (or powers of log n, where "Õ" stands), and the ratio grows like √n/log n.
    """

    n: int = 100_000_001
    refutes = (
        "li2026/theorem-6.4",
        "li2026/theorem-6.5",
        "li2026/theorem-6.6",
        "li2026/remark-6.7",
    )
    story = (
        "Constant predictors of one input of norm 1, labels ±1 from a coin with bias 0.375/√n: the "
        "excess risk of the minimiser is 0.34/√n, and the printed rate 1/n up to logarithms."
    )

    @property
    def level(self) -> float:
        return 2 * math.sqrt(math.log(self.n))

    def inputs(self, statement: str) -> dict[str, float]:
        instance: dict[str, float] = {
            "n": self.n,
            "kappa": 1.0,
            "target.bound": 1.0,
            "w.l2": 1.0,
            "d": 1,
            "k": 1,
            "T": 1,
        }
        instance |= {"W_QK.l11": 0.0, "W_v.l11": 1.0, "W_c.l11": 1.0, "sigma.lipschitz": 1.0}
        instance["tail.nu"] = 1.0
        if statement.endswith("6.7"):
            return instance
        instance["truncation"] = self.level
        if statement.endswith("6.6"):
            return instance | {"L": 1}
        return instance | {"X.op": 1.0} | ({"H": 1} if statement.endswith("6.5") else {})

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, X = self.inputs(statement), self.tokens()
        return (
            *self.learning(inputs),
            norms("‖·‖_{1,1} of W_v, W_c, W_QK, and ‖w‖₂ (5.1)", inputs, self.parts(inputs)),
            sub_gaussian(X, inputs["tail.nu"]),
            unchanged(X, self.level),
        )

    def family(self, statement: str = "li2026/theorem-6.6") -> Family:
        """n → ∞ against one of the theorems, or c√log n/n."""
        each = [type(self)(n) for n in SIZES]
        if statement.endswith("6.7"):
            printed = [math.sqrt(math.log(n)) / n for n in SIZES]
        else:
            printed = [
                norm_based(statement, it.n, 1.0, 1.0, 1.0, it.level, 0.0) + 2 / it.n**2
                for it in each
            ]
        return Family(SIZES, [it.lower_bound() for it in each], printed, "n")


@WITNESSES.register("noisy-heavy")
@dataclass(frozen=True)
class NoisyHeavyTailed(LabelNoise):
    """li2026, Theorems 6.9, 6.10, 6.11 for the constants of :class:`LabelNoise` and Catoni's ψ.

    Width, ranks, norms and C_1 are those of ``LabelNoiseLowRank``: d = k = 2, ranks ≤ 2, norms 1,
    x = e_1, and C_1 = 12, with which Assumption 5.7 holds. (Assumption 5.5, which the theorems
    keep, bounds inputs almost surely; what Assumption 6.8 specifies is (12).) ‖X‖_F = 1 satisfies
    (12) with C = 1 and every β, here 20; M = n^{1/9} ≥ 1 changes no input and makes the bias
    C_β/n².

    ψ is concave, so the training loss, a mean of ψ(1 − c) and ψ(1 + c), is least at c = ±1: the
    minimiser is the majority of the labels, as without ψ. f* = 1 is optimal, and the excess risk is
    2hψ(2)·P(Bin(n, ½ + h) < n/2) with ψ(2) = log 5, about 0.27/√n; in the loss ℓ itself it is 4h·P,
    which is more. Printed is O(C_1·log n/n), also with M for B_X up to n^{1/9}; nothing but n
    grows, so C_1 and C_β are numbers, whatever they may depend on.
    """

    n: int = 100_000_000_001
    refutes = ("li2026/theorem-6.9", "li2026/theorem-6.10", "li2026/theorem-6.11")
    story = (
        "Constant predictors, labels ±1 from a coin with bias 0.375/√n, Catoni's loss: the excess "
        "risk of the minimiser is 0.27/√n in width two, where all norms are 1 and all ranks at "
        "most 2, so that Assumption 5.7 holds with C_1 = 12 for every n."
    )
    width = 2

    @property
    def level(self) -> float:
        return self.n ** (1 / 9)

    def loss(self, y: float, f: np.ndarray) -> np.ndarray:
        """ℓ_ψ = ψ(|y − f|)."""
        return LogTruncation(2.0)(absolute(y, f))

    def inputs(self, statement: str) -> dict[str, float]:
        task: dict[str, float] = {"n": self.n, "kappa": 1.0, "target.bound": 1.0, "d": 2, "k": 2}
        task |= RANKS | SPECTRAL | {"psi.power": 2.0, "c": C_1}
        task |= {"tail.C": 1.0, "tail.beta": BETA, "truncation": self.level}
        if statement.endswith("6.11"):
            return task | {"L": 1}
        return task | {"X.op": 1.0} | ({"H": 1} if statement.endswith("6.10") else {})

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, X = self.inputs(statement), self.tokens()
        return (
            *self.learning(inputs),
            norms("spectral norms, ‖w‖₂, ‖X‖₂ (4.1, 4.9, 5.5)", inputs, self.parts(inputs)),
            ranks("ranks are at most r_v, r_c, r_QK (5.5)", inputs, self.weights()),
            rank_covering(inputs),
            heavy_tail(X, inputs),
            unchanged(X, self.level),
            robust(inputs),
        )

    def lower_bound(self) -> float:
        return super().lower_bound() / 2 * float(LogTruncation(2.0)(2.0))

    def family(self, statement: str = "li2026/theorem-6.11") -> Family:
        """n → ∞, at δ = 1/n, with C_1 = 12: the ratio grows like √n/log n (6.11) or faster."""
        each = [type(self)(n) for n in NOISY_SIZES]
        bias = C_1 * BETA / (BETA - 2)  # the statement has the same c in C_β
        printed = [
            rank_based(statement, it.n, 1.0, 1.0, it.level, 1.0, C_1)
            + bias * it.level ** (2 - BETA)
            for it in each
        ]
        return Family(NOISY_SIZES, [it.lower_bound() for it in each], printed, "n")

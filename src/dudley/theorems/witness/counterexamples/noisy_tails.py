"""A loaded coin behind a truncation: in width one no constant can hide the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.networks.robust import LogTruncation
from dudley.theorems.witness.base import WITNESSES, Family
from dudley.theorems.witness.counterexamples.label_noise import LabelNoise
from dudley.theorems.witness.counterexamples.unseen_tails import BETA, norm_based, rank_based

SIZES = tuple(10**e + 1 for e in range(7, 13))


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

    X = 1 satisfies (12) with C = 1 and every β, here 20; M = n^{1/9} ≥ 1 changes no input and makes
    the bias C_β/n². ψ is concave, so the training loss, a mean of ψ(1 − c) and ψ(1 + c), is least
    at c = ±1: the minimiser is the majority of the labels, as without ψ. f* = 1 is optimal, and the
    excess risk is 2hψ(2)·P(Bin(n, ½ + h) < n/2) with ψ(2) = log 5, about 0.27/√n. Printed is
    O(C_1·log n/n), also with M for B_X up to n^{1/9}; T = d = k = 1, so C_1 and C_β are numbers,
    whatever they may depend on.
    """

    n: int = 100_000_001
    refutes = ("li2026/theorem-6.9", "li2026/theorem-6.10", "li2026/theorem-6.11")
    story = (
        "Constant predictors, labels ±1 from a coin with bias 0.375/√n, Catoni's loss: the excess "
        "risk of the minimiser is 0.27/√n in width one, where all ranks and norms are 1."
    )

    @property
    def level(self) -> float:
        return self.n ** (1 / 9)

    def inputs(self, statement: str) -> dict[str, float]:
        instance: dict[str, float] = {
            "n": self.n,
            "kappa": 1.0,
            "target.bound": 1.0,
            "w.l2": 1.0,
            "d": 1,
            "k": 1,
        }
        instance |= {"r_QK": 1, "r_v": 1, "r_c": 1, "W_QK.op": 0.0, "W_v.op": 1.0, "W_c.op": 1.0}
        instance |= {"sigma.lipschitz": 1.0, "psi.power": 2.0}
        instance |= {"tail.C": 1.0, "tail.beta": BETA, "truncation": self.level}
        if statement.endswith("6.11"):
            return instance | {"L": 1}
        return instance | {"X.op": 1.0} | ({"H": 1} if statement.endswith("6.10") else {})

    def lower_bound(self) -> float:
        return super().lower_bound() / 2 * float(LogTruncation(2.0)(2.0))

    def family(self, statement: str = "li2026/theorem-6.11") -> Family:
        """n → ∞, at δ = 1/n, with c = 1: the ratio grows like √n/log n (6.11) or faster."""
        each = [type(self)(n) for n in SIZES]
        bias = BETA / (BETA - 2)
        printed = [
            rank_based(statement, it.n, 1.0, 1.0, it.level, 0.0) + bias * it.level ** (2 - BETA)
            for it in each
        ]
        return Family(SIZES, [it.lower_bound() for it in each], printed, "n")

"""All sign patterns on a continuum: a logarithm that should be cut at zero is not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.premises import Premise, at_most, in_range, is_lipschitz

SIZES = tuple(4.0**j for j in range(1, 8))


def all_signs(n: int) -> np.ndarray:
    """The class on n distinct points: (2^n, n). For small n."""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=n)))


def covering(inputs: Mapping[str, float]) -> tuple[Premise, ...]:
    """What Corollary A.3 and Lemma 2.2 ask of the class of all functions into {−1, 1}."""
    n, C = inputs["n"], inputs["class.C"]

    def entropy() -> bool:
        ε = np.concatenate([np.logspace(-6, math.log10(2), 200)[:-1], [2 - 1e-9]])
        signs = all_signs(3)
        pairs = np.abs(signs[:, None] - signs[None]).max(axis=2)
        apart = bool((pairs[~np.eye(8, dtype=bool)] == 2).all())  # one centre for each below ε = 2
        return apart and bool((n * math.log(2) <= C / ε**2).all())

    return (
        Premise("log N(ε) ≤ C/ε² for all ε: n·log 2 below ε = 2, and 0 from there on", entropy),
        Premise(
            "|f| ≤ A", lambda: at_most(float(np.abs(all_signs(3)).max()), inputs["class.radius"])
        ),
        Premise(
            "the complexity is 1: every pattern of signs is matched",
            lambda: all((all_signs(3) @ signs).max() == 3 for signs in all_signs(3)),
        ),
    )


@WITNESSES.register("negative-log")
@dataclass(frozen=True)
class NegativeLog(Witness):
    """edelman2021, Corollary A.3 for the class of all functions into {−1, 1}.

    On n distinct points R̂ = 1, since every sign pattern is matched; A = 1. Two patterns are 2
    apart, so with members as centres (Definition 2.1) log N(ε) is n log 2 for ε < 2 and 0 from 2
    on: C is valid if and only if C ≥ 4n log 2 (with any centres C ≥ n log 2 would do).
    C = n e^{2−2/s} is, for every s ≥ 2.05, s = ∞ included. Then A√(n/C) = e^{−1+1/s}, and the
    printed c√(C/n)(1 + log(A√(n/C))) is c·e^{1−1/s}/s, which tends to 0 as s grows; past C = n e²
    it is negative.
    """

    n: int = 1
    s: float = 100.0
    refutes = ("edelman2021/corollary-A.3",)
    story = (
        "All functions into {−1, 1} have complexity 1, and C = n·e^{2−2/s} is a valid constant for "
        "their covers if s ≥ 3; the printed right-hand side is then c·e^{1−1/s}/s. Here s = 100."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {
            "n": self.n,
            "class.C": self.n * math.exp(2 - 2 / self.s),
            "class.radius": 1.0,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        return covering(self.inputs(statement))

    def lower_bound(self) -> float:
        return 1.0

    def family(self) -> Family:
        """s → ∞: lower bound 1, printed e^{1−1/s}/s."""
        printed = [math.exp(1 - 1 / s) / s for s in SIZES]
        return Family(SIZES, [1.0] * len(SIZES), printed, "s")


@WITNESSES.register("negative-log-gap")
@dataclass(frozen=True)
class NegativeLogGap(Witness):
    """edelman2021, Lemma 2.2 for the same class, with labels that are fair coins.

    Inputs from a continuum, y = ±1 a fair coin apart from them, ℓ(f, y) = |f − y|/2 with f and y
    clipped to [−1, 1], so that ℓ ∈ [0, 1] on all of R×R; it is ½-Lipschitz. Every function of the
    class has risk ½, and one of them has training loss 0 on the n distinct inputs: the largest
    |risk − training loss| is ½, almost surely. With C as in :class:`NegativeLog`, s ≥ 3, the
    printed value is 2c·e^{1−1/s}/s + 2√(log(1/δ)/2n); with n = s² it tends to 0 like 1/s.
    """

    s: int = 100
    delta: float = 0.05
    refutes = ("edelman2021/lemma-2.2",)
    story = (
        "Functions that match any labels on the sample have risk ½ and training loss 0 when the "
        "labels are coins; the printed bound tends to 0 because its logarithm cancels the 1."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        n = self.s**2
        return {
            "n": n,
            "class.C": n * math.exp(2 - 2 / self.s),
            "class.radius": 1.0,
            "loss.lipschitz": 0.5,
            "loss.range": 1.0,
            "delta": self.delta,
        }

    @staticmethod
    def loss(y: float, f: np.ndarray) -> np.ndarray:
        """|f − y|/2 with f cut at ±1."""
        return np.abs(np.clip(f, -1, 1) - y) / 2

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, grid = self.inputs(statement), np.linspace(-3, 3, 601)
        both = [self.loss(y, grid) for y in (-1.0, 1.0)]
        return (
            *covering(inputs),
            Premise(
                "the loss lies in [0, b] and is L-Lipschitz (2.2)",
                lambda: (
                    all(
                        x.min() >= 0 and at_most(float(x.max()), inputs["loss.range"]) for x in both
                    )
                    and is_lipschitz(self.loss, inputs["loss.lipschitz"], (-1.0, 1.0), grid)
                ),
            ),
            in_range("0 < δ < 1 (2.2)", inputs, delta=(0.0, 1.0)),
            Premise(
                "every function has risk ½, and some function has training loss 0",
                lambda: (
                    all(np.mean([x[i] for x in both]) == 0.5 for i in (200, 400))
                    and self.loss(1.0, np.ones(1))[0] == self.loss(-1.0, -np.ones(1))[0] == 0
                ),
            ),
        )

    def lower_bound(self) -> float:
        return 0.5

    def family(self) -> Family:
        """s → ∞ with n = s²."""
        drift = 2 * math.sqrt(math.log(1 / self.delta) / 2)
        printed = [(2 * math.exp(1 - 1 / s) + drift) / s for s in SIZES]
        return Family(SIZES, [0.5] * len(SIZES), printed, "s")

"""All sign patterns on a continuum: a logarithm that should be cut at zero is not."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Family, Witness

SIZES = tuple(4.0**j for j in range(1, 8))


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

    def lower_bound(self) -> float:
        return 0.5

    def family(self) -> Family:
        """s → ∞ with n = s²."""
        drift = 2 * math.sqrt(math.log(1 / self.delta) / 2)
        printed = [(2 * math.exp(1 - 1 / s) + drift) / s for s in SIZES]
        return Family(SIZES, [0.5] * len(SIZES), printed, "s")

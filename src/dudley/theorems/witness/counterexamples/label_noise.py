"""A coin that is slightly loaded: label noise forbids fast rates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from dudley.theorems.witness.base import WITNESSES, Witness


@WITNESSES.register("label-noise")
@dataclass(frozen=True)
class LabelNoise(Witness):
    """li2026, Theorems 4.4, 4.7, 4.11 and their corollaries, for the constants in [−1, 1].

    T = d = k = 1, x = 1, W_v = W_c = 1, σ the identity and |w| ≤ 1: the predictors are the
    constants c ∈ [−1, 1] (also with Π, with one head, and with L layers). Y = ±1 with
    P(Y = 1) = ½ + h, and ℓ(y, c) = |y − c|, so κ = 1. Then

        R(c) = 1 − 2hc,   f* = 1 (in the class, and optimal given X),   g(X; c) = 2h(1 − c) ≥ 0,

    inf_F exc = 0, B = 1, and the printed M is 4. The training loss is linear in c, so for odd n the
    minimiser is the majority of the labels and E exc = 4h·P(Bin(n, ½ + h) < n/2), exactly; with
    h = 0.375/√n that is about 0.34/√n.

    R_off(G, ¼) is exact too: with S the mean of n signs, the supremum over g ∈ [0, 4h] of gS − g²/4
    is at g = min(2S, 4h) for S > 0 and 0 otherwise. For the corollaries, ⌈1/δ⌉ centres cover the
    constants at resolution δ; δ = 1/n makes the printed right-hand side of order log n/n.
    """

    n: int = 1_000_001
    refutes = (
        "li2026/theorem-4.4",
        "li2026/corollary-4.5",
        "li2026/theorem-4.7",
        "li2026/corollary-4.8",
        "li2026/theorem-4.11",
        "li2026/corollary-4.13",
    )
    story = (
        "Constant predictors, labels ±1 from a coin with bias 0.375/√n, absolute loss: the "
        "minimiser follows the majority, which is wrong often enough for an excess risk of "
        "0.34/√n, while the offset complexity is of order 1/n."
    )

    @property
    def h(self) -> float:
        return 0.375 / math.sqrt(self.n)

    @property
    def offset(self) -> float:
        """R_off(G, 1/4) of the constants g ∈ [0, 4h], by summing over the number of +1 signs.

        ERRATA.md shows all digits: the sum is rounded once, not as a processor's kernels do.
        """
        plus = np.arange(self.n + 1)
        S = (2 * plus - self.n) / self.n
        g = np.clip(2 * S, 0.0, 4 * self.h)
        return math.fsum(binom.pmf(plus, self.n, 0.5) * (g * S - g * g / 4))

    def inputs(self, statement: str) -> dict[str, float]:
        instance: dict[str, float] = {"n": self.n, "kappa": 1.0, "target.bound": 1.0, "w.l2": 1.0}
        if not statement.endswith(("4.11", "4.13")):
            instance |= {"W_v.op": 1.0, "W_c.op": 1.0, "sigma.lipschitz": 1.0, "X.op": 1.0}
        if statement.endswith(("4.7", "4.8")):
            instance["H"] = 1
        if "theorem" in statement:
            return instance | {"class.offset": self.offset}
        return instance | {"class.log_cover": math.log(self.n), "epsilon": 1 / self.n}

    def lower_bound(self) -> float:
        return float(4 * self.h * binom.cdf(self.n // 2, self.n, 0.5 + self.h))

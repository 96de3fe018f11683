"""A coin that is slightly loaded: label noise forbids fast rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import binom

from dudley.theorems.witness.base import WITNESSES, FormalProof, Witness
from dudley.theorems.witness.premises import Premise, at_most, attended, is_lipschitz, norms

CONSTANTS = np.linspace(-1, 1, 2001)  # predictions that are looked at


def absolute(y: float, f: np.ndarray) -> np.ndarray:
    """|y − f|."""
    return np.abs(y - f)


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
    formal = dict.fromkeys(
        ("li2026/theorem-4.4", "li2026/theorem-4.7", "li2026/theorem-4.11"),
        FormalProof("LabelNoise.v", "label_noise", "false at n = 201 and h = 1/40"),
    )
    width: ClassVar[int] = 1  # d = k

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

    def tokens(self) -> np.ndarray:
        """The only input, one token e_1: (1, 1, width)."""
        return np.eye(self.width)[None, :1]

    def weights(self, c: float = 1.0) -> dict[str, np.ndarray]:
        """Weights that predict the constant c."""
        unit = np.eye(self.width)
        return {"W_QK": 0 * unit, "W_v": unit, "W_c": unit, "w": c * unit[0]}

    def loss(self, y: float, f: np.ndarray) -> np.ndarray:
        """ℓ."""
        return absolute(y, f)

    def conditional_excess(self, f: np.ndarray) -> np.ndarray:
        """g(X; f) = E[ℓ(Y, f) − ℓ(Y, 1) | X]."""
        plus, minus = (self.loss(y, f) - self.loss(y, np.ones(1)) for y in (1.0, -1.0))
        return (0.5 + self.h) * plus + (0.5 - self.h) * minus

    def parts(self, inputs: Mapping[str, float]) -> dict[str, np.ndarray]:
        """Of the weights and tokens, those of which the inputs bound a norm."""
        bounded = {name.partition(".")[0] for name in inputs}
        return {k: v for k, v in (self.weights() | {"X": self.tokens()}).items() if k in bounded}

    def learning(self, inputs: Mapping[str, float]) -> tuple[Premise, ...]:
        """What every statement on excess risks asks of the coin."""
        f = CONSTANTS
        return (
            Premise(
                "the predictors are the constants in [−1, 1], and no Π changes a row",
                lambda: all(
                    np.linalg.norm(rows := attended(self.weights(c), self.tokens())) <= 1
                    and math.isclose((rows @ self.weights(c)["w"]).item(), c)
                    for c in (-1.0, 0.25, 1.0)
                ),
            ),
            Premise(
                "|f*(X)| ≤ B almost surely: f* = 1 is the least of all risks (4.2, 4.10, 5.5)",
                lambda: (
                    self.conditional_excess(2 * f).min() >= -1e-12
                    and at_most(1.0, inputs["target.bound"])
                ),
            ),
            Premise(
                "|g(X; f₁) − g(X; f₂)| ≤ κ|f₁(X) − f₂(X)| (4.3, 6.3)",
                lambda: (
                    is_lipschitz(
                        lambda y, f: self.conditional_excess(f), inputs["kappa"], (0.0,), f
                    )
                    and is_lipschitz(self.loss, inputs["kappa"], (-1.0, 1.0), f)
                ),
            ),
            Premise(
                "P(Y = 1) = ½ + h is a probability, and n is odd, so that no labels tie",
                lambda: 0 < self.h <= 0.5 and self.n % 2 == 1,
            ),
        )

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs = self.inputs(statement)
        bounds = norms(
            "‖W_v‖₂ ≤ B_v, ‖W_c‖₂ ≤ B_c, ‖w‖₂ ≤ B_w, ‖X‖₂ ≤ B_X (4.1, 4.2, 4.9)",
            inputs,
            self.parts(inputs),
        )
        if "theorem" in statement:
            return (*self.learning(inputs), bounds)
        cover = Premise(
            "log N(δ) is at most what is stated: n intervals of length 2δ cover [−1, 1]",
            lambda: (
                at_most(2.0, 2 * inputs["epsilon"] * self.n)
                and at_most(math.log(self.n), inputs["class.log_cover"])
            ),
        )
        return (*self.learning(inputs), bounds, cover)

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

"""Two predictors, two points, no noise: the approximation error counts three times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.counterexamples.label_noise import absolute
from dudley.theorems.witness.premises import Premise, at_most, attended, is_lipschitz, norms


def expected_larger(k: int, n: int, β: float) -> float:
    """E max(S_1 − βk, S_2 − β(n − k)) for independent sums S_1, S_2 of k and n − k signs."""
    ups, other_ups = np.arange(k + 1), np.arange(n - k + 1)
    first = (2 * ups - k) - β * k
    second = (2 * other_ups - (n - k)) - β * (n - k)
    weights = np.outer(binom.pmf(ups, k, 0.5), binom.pmf(other_ups, n - k, 0.5))
    return float((weights * np.maximum(first[:, None], second[None, :])).sum())


@WITNESSES.register("two-points")
@dataclass(frozen=True)
class TwoPoints(Witness):
    """li2026, Theorems 4.4, 4.7 and 4.11, noise-free: the factor of inf_F exc is not 1.

    One token x, uniform on {e_1, e_2} ⊂ R²; Y = 0 and ℓ(y, ŷ) = |y − ŷ|, so f* = 0, B = 0, κ = 1
    and g = |f| ≥ 0 without noise. W_v = W_c = I, σ the identity, w ∈ {e_1, e_2}: two predictors,
    each with risk ½. Here f* is the best of all functions, as in the proof. (With the best of the
    class in its place, as in section 4.1, R_off ≥ 0 and this instance refutes nothing; that of
    ``label_noise`` serves for both.) So E exc = inf_F exc = ½ whatever the minimiser does, and the
    claim would need R_off ≥ 0. With β = 1/M = ½ each g is an indicator, and

        R_off = (1/n) E max_j [S_j − βk_j],   k_1 ~ Bin(n, ½),   k_2 = n − k_1,

    with S_j a sum of k_j signs, is about −β/2: exact here, by summing over k_1 and both sums.
    """

    n: int = 100
    refutes = ("li2026/theorem-4.4", "li2026/theorem-4.7", "li2026/theorem-4.11")
    story = (
        "Two predictors of risk ½ each, on two points without noise: the offset complexity is "
        "negative, so an excess risk that equals the approximation error exceeds 4 R_off plus it."
    )

    @property
    def offset(self) -> float:
        """R_off(G, ½)."""
        k = np.arange(self.n + 1)
        means = [expected_larger(int(j), self.n, 0.5) for j in k]
        return float(binom.pmf(k, self.n, 0.5) @ np.array(means)) / self.n

    def inputs(self, statement: str) -> dict[str, float]:
        instance: dict[str, float] = {
            "n": self.n,
            "kappa": 1.0,
            "target.bound": 0.0,
            "w.l2": 1.0,
            "noise.free": 1,
        }
        instance |= {"class.offset": self.offset, "class.approximation": 0.5}
        if not statement.endswith("4.11"):
            instance |= {"W_v.op": 1.0, "W_c.op": 1.0, "sigma.lipschitz": 1.0, "X.op": 1.0}
        return instance | ({"H": 1} if statement.endswith("4.7") else {})

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, X, unit = self.inputs(statement), np.eye(2)[:, None], np.eye(2)
        W = {"W_v": unit, "W_c": unit, "w": unit[0], "X": X}
        bounded = {name.partition(".")[0] for name in inputs}

        def risks() -> bool:
            rows = attended({"W_QK": 0 * unit, "W_v": unit, "W_c": unit}, X)
            f = rows @ unit  # on input i by the predictor w = e_j
            half = np.allclose(np.abs(f).mean(axis=0), inputs["class.approximation"])
            return half and bool((np.linalg.norm(rows, axis=1) <= 1).all())

        def offset() -> bool:
            # R_off for n = 2, by enumeration of all inputs and signs
            total = 0.0
            for x in np.ndindex(2, 2):
                for τ in np.ndindex(2, 2):
                    signs = 1 - 2 * np.array(τ)
                    g = np.eye(2)[list(x)]  # g of both predictors at both examples
                    total += float((signs @ g - 0.5 * (g**2).sum(axis=0)).max()) / 2
            return bool(np.isclose(total / 16, TwoPoints(2).offset))

        return (
            norms(
                "spectral norms, ‖w‖₂, ‖X‖₂ (4.1, 4.2, 4.9)",
                inputs,
                {name: part for name, part in W.items() if name in bounded},
            ),
            Premise("both predictors have risk inf_F exc, and no Π changes a row", risks),
            Premise(
                "|f*(X)| ≤ B: f* = 0 has loss 0 at every example (4.2)",
                lambda: absolute(0.0, np.zeros(1))[0] == 0 and at_most(0, inputs["target.bound"]),
            ),
            Premise(
                "|g(X; f₁) − g(X; f₂)| ≤ κ|f₁(X) − f₂(X)| (4.3)",
                lambda: is_lipschitz(absolute, inputs["kappa"], (0.0,), np.linspace(-1, 1, 201)),
            ),
            Premise("R_off is the paper's (3.1): by enumeration at n = 2", offset),
        )

    def lower_bound(self) -> float:
        return 0.5

"""One function, one example, a fair coin: a deviation that no confidence excuses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise, at_most, in_range, is_lipschitz


@WITNESSES.register("fair-coin")
@dataclass(frozen=True)
class FairCoin(Witness):
    """edelman2021, Theorem A.4 for a single function whose loss is 0 or 1, each with chance ½.

    The complexity of one function is 0 and its risk ½. With one example the training loss is 0
    or 1, so |risk − training loss| = ½ surely. The printed deviation 2√(log(1/δ)/2) is .142 at
    δ = .99: an event of probability ≥ .01 is claimed, and it never happens. (For δ ≤ 2^{−1/3} the
    claim does hold for one function, by Hoeffding's inequality; so the slip is in the constant.)
    """

    delta: float = 0.99
    refutes = ("edelman2021/theorem-A.4",)
    story = (
        "For one function, a fair coin and one example the deviation is always ½, while the "
        "printed bound is .142 at δ = .99."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {
            "n": 1,
            "class.rademacher": 0.0,
            "loss.lipschitz": 1.0,
            "loss.range": 1.0,
            "delta": self.delta,
        }

    def loss(self, y: float, f: np.ndarray) -> np.ndarray:
        """|y − f| cut at 1; the only function predicts 0, the labels are 0 and 1."""
        return np.minimum(np.abs(y - f), 1.0)

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, grid = self.inputs(statement), np.linspace(-3, 3, 601)
        coin = np.array([0.0, 1.0])
        losses = np.array([self.loss(y, np.zeros(1))[0] for y in coin])
        return (
            in_range("0 < δ < 1 (A.4)", inputs, delta=(0.0, 1.0)),
            Premise(
                "the loss lies in [0, b] and is L-Lipschitz (A.4)",
                lambda: (
                    all(
                        at_most(float(self.loss(y, grid).max()), inputs["loss.range"])
                        and self.loss(y, grid).min() >= 0
                        for y in coin
                    )
                    and is_lipschitz(self.loss, inputs["loss.lipschitz"], (0.0, 1.0), grid)
                ),
            ),
            Premise(
                "a class of one function has empirical Rademacher complexity 0 (A.1)",
                lambda: (
                    float(np.mean([max(sign * f for f in (0.0,)) for sign in (-1, 1)]))
                    == inputs["class.rademacher"]
                ),
            ),
            Premise(
                "on every sample of one example the deviation is the lower bound",
                lambda: bool((np.abs(losses.mean() - losses) == self.lower_bound()).all()),
            ),
        )

    def lower_bound(self) -> float:
        return 0.5

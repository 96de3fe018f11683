"""One function, one example, a fair coin: a deviation that no confidence excuses."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Witness


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

    def lower_bound(self) -> float:
        return 0.5

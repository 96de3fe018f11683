"""A level of truncation from one balance, a rate from another."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Family, Witness
from dudley.theorems.witness.premises import Premise

SIZES = tuple(10**e for e in range(2, 9))


@WITNESSES.register("wrong-level")
@dataclass(frozen=True)
class WrongLevel(Witness):
    """li2026, Remark 6.12 at β = 2.5: M = n^{1/(β−2)} = n².

    The variance M·log M/n is then 2n·log n, and the sum with the bias M^{−1/2} = 1/n is at least
    that; the printed rate n^{−1/3} falls. No constant, which may depend on β only, makes up for it.
    """

    n: int = 1_000_000
    refutes = ("li2026/remark-6.12",)
    story = (
        "For β = 2.5 the remark's level is n², and a factor of order M before the entropy makes "
        "the bound grow like n·log n, while the printed rate is n^{−1/3}."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {"n": self.n, "tail.beta": 2.5}

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs = self.inputs(statement)

        def sums() -> bool:
            n, β = self.n, inputs["tail.beta"]
            M = n ** (1 / (β - 2))
            return self.lower_bound() <= (M * math.log(M) / n + M ** (2 - β)) * (1 + 1e-9)

        return (
            Premise("β > 2 (6.8)", lambda: inputs["tail.beta"] > 2),
            Premise("at M = n^{1/(β−2)} the two terms add up to no less (6.12)", sums),
        )

    def lower_bound(self) -> float:
        return 2 * self.n * math.log(self.n)

    def family(self) -> Family:
        """n → ∞ at β = 2.5."""
        printed = [n ** (-1 / 3) for n in SIZES]
        return Family(SIZES, [WrongLevel(n).lower_bound() for n in SIZES], printed, "n")

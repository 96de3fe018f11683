"""Half an atom, one draw: the average is 0 or the whole atom."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Witness
from dudley.theorems.witness.premises import Premise, at_most


@WITNESSES.register("maurey-slip")
@dataclass(frozen=True)
class MaureySlip(Witness):
    """trauger2024, Lemma 3.1 with one atom V = 1 of R, f = γV and K terms.

    The averages are j/K, j ≤ K, so the squared error is min_j (γ − j/K)², computed exactly; the
    printed bound (γ²b² − ‖f‖²)/K is 0 for every γ.
    """

    γ: float = 0.5
    terms: int = 1
    refutes = ("trauger2024/lemma-3.1",)
    story = (
        "With the single atom 1, f = 1/2 and one term, the average is 0 or 1 and misses f by 1/2, "
        "while the printed error is 0."
    )

    def inputs(self, statement: str) -> dict[str, float]:
        return {
            "d": 1,
            "terms": self.terms,
            "combination.mass": self.γ,
            "combination.norm2": self.γ,
            "atoms.norm2": 1.0,
        }

    def hypotheses(self, statement: str) -> tuple[Premise, ...]:
        inputs, V, a = self.inputs(statement), 1.0, self.γ
        return (
            Premise(
                "f = Σa_iV_i with a_i ≥ 0 and Σa_i = γ ≤ 1 (3.1)",
                lambda: (
                    0 <= a * V <= 1
                    and inputs["combination.mass"] == a
                    and inputs["combination.norm2"] == a * V
                ),
            ),
            Premise("‖V_i‖ ≤ b (3.1)", lambda: at_most(abs(V), inputs["atoms.norm2"])),
            Premise("a natural number of terms (3.1)", lambda: self.terms == int(self.terms) >= 1),
        )

    def lower_bound(self) -> float:
        return min((self.γ - j / self.terms) ** 2 for j in range(self.terms + 1))

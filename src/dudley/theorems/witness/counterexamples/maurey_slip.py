"""Half an atom, one draw: the average is 0 or the whole atom."""

from __future__ import annotations

from dataclasses import dataclass

from dudley.theorems.witness.base import WITNESSES, Witness


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

    def lower_bound(self) -> float:
        return min((self.γ - j / self.terms) ** 2 for j in range(self.terms + 1))

"""Attacked: what became of a claim, and what the attack could have broken.

A claim is *broken* where it is below something true. It *stands* only where the attack had power:
where it would have broken a tenth of the claim. Otherwise the answer is *undecided*.

>>> print(Attacked("Rademacher complexity", (AttackedPoint(9, LowerBound(0.25, "exact"), 0.3),)))
Rademacher complexity at 9: at least 0.25 (exact), claimed 0.3: stands (a claim below 0.25 would
have been broken)
>>> [AttackedPoint(9, LowerBound(0.25, "exact"), claimed).verdict for claimed in (3.0, 0.2)]
['undecided', 'broken']
"""

from __future__ import annotations

from dataclasses import dataclass

from dudley.theorems.witness.lower import LowerBound

TENTH = 0.1


@dataclass(frozen=True)
class AttackedPoint:
    """A claim at one ε or n, what was found there, and what the budget left untried."""

    at: float
    lower: LowerBound
    claimed: float
    untried: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        return self.claimed < self.lower.value - 1e-12 * abs(self.lower.value)

    @property
    def power(self) -> bool:
        """Would a tenth of the claim have been broken (of one below zero: ten times the claim)?"""
        weaker = self.claimed * TENTH if self.claimed > 0 else self.claimed / TENTH
        return self.lower.value >= weaker

    @property
    def verdict(self) -> str:
        """broken, stands, or undecided for want of power."""
        return "broken" if self.broken else "stands" if self.power else "undecided"

    @property
    def sentence(self) -> str:
        """The verdict, with the smallest claim that the attack cannot break."""
        would = f"a claim below {self.lower.value:.6g} would have been broken"
        left = f"; untried within the budget: {', '.join(self.untried)}" if self.untried else ""
        if self.broken:
            return "broken"
        if self.power:
            return f"stands ({would}{left})"
        return f"undecided: no power here (only {would}{left})"


@dataclass(frozen=True)
class Attacked:
    """What became of a claim, at every point."""

    bounds: str
    points: tuple[AttackedPoint, ...]

    @property
    def broken(self) -> bool:
        """Is the claim below something true, somewhere?"""
        return any(point.broken for point in self.points)

    @property
    def verdict(self) -> str:
        """broken if it is so somewhere; stands if it does so everywhere; otherwise undecided."""
        verdicts = {point.verdict for point in self.points}
        return "broken" if self.broken else "stands" if verdicts == {"stands"} else "undecided"

    def __str__(self) -> str:
        return "\n".join(
            f"{self.bounds} at {p.at:g}: {p.lower}, claimed {p.claimed:.6g}: {p.sentence}"
            for p in self.points
        )

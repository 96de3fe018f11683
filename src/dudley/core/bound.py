"""Bound: the result of an evaluation, with what it bounds, in which sense, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from dudley.core.assumption import Assumption
from dudley.core.confidence import confidence
from dudley.core.errors import InputError

ROUNDING = 1e-12  # so near the trivial bound a number is that bound


class Sense(Enum):
    """In which sense the number is an upper bound."""

    EXPECTATION = "in expectation"
    CONFIDENCE = "with probability at least 1 − delta over the sample"
    SURELY = "for every sample"
    CONSTANT = "up to an unnamed constant"


@dataclass(frozen=True)
class Term:
    """One summand of a bound."""

    name: str
    value: float
    note: str = ""


def smaller(first: Bound, other: Bound) -> Bound:
    """The smaller of two bounds on one quantity."""
    return first if first.log_value <= other.log_value else other


@dataclass(frozen=True)
class Bound:
    """An upper bound: its value (or only its log, when it leaves the floats) and its breakdown.

    ``trivial`` is what holds without any theory; a bound at or above it says nothing. ``exact`` is
    the number as it was computed; a printed formula that comes out below zero bounds nothing.
    ``delta`` is the chance that the bound fails, where it was a number and not a letter.

    >>> b = Bound.of(0.25, quantity="risk − training loss", sense=Sense.CONFIDENCE, trivial=1.0)
    >>> b.vacuous, round(b.log_value, 4)
    (False, -1.3863)
    """

    log_value: float
    quantity: str
    sense: Sense
    terms: tuple[Term, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    trivial: float = math.inf
    exact: float | None = None
    delta: float | None = None
    details: dict = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, value: float, **facts: Any) -> Bound:
        if math.isnan(value):
            raise InputError("bound", "a number", "NaN")
        return cls(math.log(value) if value > 0 else -math.inf, exact=value, **facts)

    @property
    def value(self) -> float:
        if self.exact is not None:
            return self.exact
        return math.exp(self.log_value) if self.log_value < 709.7 else math.inf

    @property
    def negative(self) -> float | None:
        """The value, if it is below zero."""
        return self.exact if self.exact is not None and self.exact < 0 else None

    @property
    def vacuous(self) -> bool:
        """Does it say nothing: at or above the trivial bound (up to rounding), or below zero?"""
        return self.negative is not None or self.value >= self.trivial * (1 - ROUNDING)

    @property
    def holds(self) -> str:
        """In which sense it is a bound, with the probability where that is known.

        >>> Bound.of(0.25, quantity="risk", sense=Sense.CONFIDENCE, delta=0.05).holds
        'with probability at least 0.95 over the sample'
        """
        if self.delta is None or self.sense is not Sense.CONFIDENCE:
            return self.sense.value
        return self.sense.value.replace("1 − delta", confidence(self.delta))

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        lines = [f"{self.quantity} ≤ {self._number()}   ({'; '.join(self._remarks())})"]
        lines += [
            f"  {term.name:<12} {term.value:>12.6g}" + (f"   {term.note}" if term.note else "")
            for term in self.terms
        ]
        lines += [f"  · {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)

    def _number(self) -> str:
        if math.isfinite(self.value):
            return f"{self.value:.6g}"
        return f"10^{self.log_value / math.log(10):.1f}"

    def _remarks(self) -> list[str]:
        if self.negative is not None:
            return [self.holds, "the formula is negative here: it bounds nothing"]
        if self.vacuous:
            return [self.holds, "vacuous"]
        known = math.isfinite(self.trivial)
        return [self.holds, f"trivial bound {self.trivial:g}"] if known else [self.holds]

    def to_json(self) -> dict:
        """The plain-data form: ``value`` is null when it is not a finite float."""
        return {
            "value": self.value if math.isfinite(self.value) else None,
            "log_value": self.log_value if math.isfinite(self.log_value) else None,
            "quantity": self.quantity,
            "sense": self.holds,
            "terms": [
                {
                    "name": t.name,
                    "value": t.value if math.isfinite(t.value) else None,
                    "note": t.note,
                }
                for t in self.terms
            ],
            "assumptions": [assumption.to_json() for assumption in self.assumptions],
            "vacuous": self.vacuous,
            "negative": self.negative is not None,
            "trivial": self.trivial if math.isfinite(self.trivial) else None,
            **self.details,
        }

"""Verdicts on a printed statement, on two axes: is it true, and what does its repair take?

One word cannot say both. A misprinted symbol and a rate that does not hold both make a statement
false as printed; a reader wants to know which it is. So a verdict says whether the statement is
true *as printed*, what the lightest repair takes, and of a false one *where* it fails. A statement
is called false only where a witness keeps the printed hypotheses and exceeds the printed bound.

>>> str(Verdict.true())
'true'
>>> str(Verdict.false(Repair.HYPOTHESIS))
'false; the repair takes a hypothesis'
>>> str(Verdict.false(Repair.SYMBOL, Extent.EMPTY))
'false, only where the repaired bound says nothing; the repair takes a symbol'
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dudley.core.errors import InputError


class AsPrinted(Enum):
    """Is the printed statement true?"""

    TRUE = "true"
    FALSE = "false"
    UNDECIDED = "undecided"
    NO_CLAIM = "claims nothing"

    @property
    def meaning(self) -> str:
        return AS_PRINTED[self]


class Repair(Enum):
    """What the lightest repair that is known takes, from the least to the most."""

    NOTHING = "nothing"
    SYMBOL = "a symbol"
    CONSTANT = "a constant"
    HYPOTHESIS = "a hypothesis"
    WEAKER = "a weaker rate or norm"
    UNKNOWN = "none known"

    @property
    def meaning(self) -> str:
        return REPAIRS[self]


class Extent(Enum):
    """Where a false statement fails."""

    EVERYWHERE = "in general"
    EDGE = "only outside the range that the paper uses"
    EMPTY = "only where the repaired bound says nothing"


AS_PRINTED = {
    AsPrinted.TRUE: "it holds as printed; a symbol that is plainly misprinted is read as meant",
    AsPrinted.FALSE: "a counterexample keeps the printed hypotheses and exceeds the printed bound",
    AsPrinted.UNDECIDED: "it depends on how the text is read, or neither a proof nor a "
    "counterexample is known to us",
    AsPrinted.NO_CLAIM: "a definition or an assumption: it can be ill-suited, never false",
}
REPAIRS = {
    Repair.NOTHING: "at most a remark",
    Repair.SYMBOL: "a symbol, index or factor that was lost or exchanged on the way into print",
    Repair.CONSTANT: "a number, or a constant that must be named",
    Repair.HYPOTHESIS: "a further hypothesis or another norm, such as tokens or a readout of norm "
    "at most 1",
    Repair.WEAKER: "a slower rate, or more norms or dimensions, even for tokens and readouts of "
    "norm at most 1",
    Repair.UNKNOWN: "no repaired version is known to us",
}


@dataclass(frozen=True)
class Verdict:
    """What an audit says of a printed statement. ``fails`` is for false statements alone."""

    as_printed: AsPrinted
    repair: Repair
    fails: Extent | None = None

    def __post_init__(self) -> None:
        if (self.fails is not None) != (self.as_printed is AsPrinted.FALSE):
            raise InputError("verdict", "an extent for a false statement, and for no other", self)
        doubtful = self.as_printed in (AsPrinted.FALSE, AsPrinted.UNDECIDED)
        if self.repair is Repair.NOTHING and doubtful:
            raise InputError("verdict", "a repair of what is false or undecided", self)

    @staticmethod
    def true(repair: Repair = Repair.NOTHING) -> Verdict:
        """It holds; with a repair, what its text or its proof needs all the same."""
        return Verdict(AsPrinted.TRUE, repair)

    @staticmethod
    def false(repair: Repair, fails: Extent = Extent.EVERYWHERE) -> Verdict:
        """A witness refutes it."""
        return Verdict(AsPrinted.FALSE, repair, fails)

    @staticmethod
    def undecided(repair: Repair) -> Verdict:
        """It is neither proved nor refuted here."""
        return Verdict(AsPrinted.UNDECIDED, repair)

    @staticmethod
    def no_claim(repair: Repair = Repair.NOTHING) -> Verdict:
        """A definition or an assumption."""
        return Verdict(AsPrinted.NO_CLAIM, repair)

    @property
    def stands(self) -> bool:
        """Nothing needs mending."""
        return self.repair is Repair.NOTHING

    @property
    def is_false(self) -> bool:
        return self.as_printed is AsPrinted.FALSE

    @property
    def claims(self) -> bool:
        """Could it be refuted? What claims nothing can only be violated by an instance."""
        return self.as_printed is not AsPrinted.NO_CLAIM

    @property
    def where(self) -> str:
        """Is it true as printed; of a false one that fails in part only, in which part."""
        if self.fails is None or self.fails is Extent.EVERYWHERE:
            return self.as_printed.value
        return f"{self.as_printed.value}, {self.fails.value}"

    def __str__(self) -> str:
        return self.where + ("" if self.stands else f"; the repair takes {self.repair.value}")

    def to_json(self) -> dict[str, str | None]:
        """Plain data."""
        return {
            "as_printed": self.as_printed.value,
            "repair": self.repair.value,
            "fails": None if self.fails is None else self.fails.value,
        }

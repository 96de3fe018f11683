"""What a certificate of outcomes declares, chooses and finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dudley.certificates import digits
from dudley.certificates.base import MethodDeclared
from dudley.certificates.outcomes.abstention import expect_chains, thresholds_of
from dudley.certificates.outcomes.columns import OutcomeColumns
from dudley.certificates.outcomes.units import WAYS
from dudley.certificates.records import expect_kinds, omitted
from dudley.core.errors import InputError

Answer = Any  # a plain table, or a list of them, where it was asked for
ABSENT = {"omitted": True}  # from the file
GRID = tuple(round(0.05 * i, 2) for i in range(20))  # 0, .05, …, .95


@dataclass(frozen=True)
class OutcomesDeclared(MethodDeclared):
    """Columns, and which questions are answered (`.method` explains each).

    ``among`` is the number of models, prompts, checkpoints or metrics that were compared on these
    rows before this one was taken. Levels and thresholds are rounded to the ten digits that a file
    has: what is said of a threshold is about the number that is written there.
    """

    columns: OutcomeColumns = field(default_factory=OutcomeColumns)
    two_sided: bool = False
    below: float | None = None
    slices_below: float | None = None
    answered_below: float | None = None
    thresholds: tuple[float, ...] = GRID
    chains: int = 4
    margin: float | None = None
    unit_way: str = "mean"
    seed: int | None = omitted()  # of the rows that stand for their units
    log: dict[str, Any] | None = field(default=None, metadata=ABSENT)  # the tool, and what is asked

    def __post_init__(self):
        expect_kinds(self, "outcomes", frozenset({"columns"}))
        super().__post_init__()
        for name in ("below", "slices_below", "answered_below", "margin"):
            level = getattr(self, name)
            if level is not None and not 0 <= level <= 1:
                raise InputError(name, "a number in [0, 1]", level)
            if level is not None:
                object.__setattr__(self, name, digits.near(level))
        object.__setattr__(self, "thresholds", tuple(map(digits.near, self.thresholds)))
        if self.unit_way not in WAYS:
            raise InputError("unit_way", " or ".join(WAYS), self.unit_way)
        first = bool(self.columns.unit) and self.unit_way == "first"
        if first and (self.seed is None or not 0 <= self.seed < 1 << 32):
            fix = "take one that was drawn at random, before the data were seen"
            raise InputError("seed", "a whole number below 2^32 for unit_way first", self.seed, fix)
        needs = (
            ("slices_below", self.slices_below, self.columns.groups, "a column of groups"),
            ("margin", self.margin, self.columns.old, "a column of the old model"),
        )
        for name, level, column, what in needs:
            if level is not None and not column:
                raise InputError(name, what, "none")
        if self.columns.time and self.columns.unit:
            fix = "rows of a unit depend on each other, so that they have no order of their own"
            raise InputError("time", "none where units are declared", self.columns.time, fix)
        expect_chains(self.chains, len(thresholds_of(self.thresholds)))

    @property
    def parts(self) -> tuple[str, ...]:
        """What shares δ."""
        both = self.two_sided
        questions = {
            "upper end": True,
            "lower end": both,
            "slices": bool(self.columns.groups),
            "tests of slices": self.slices_below is not None,
            "abstention": self.answered_below is not None,
            "coverage": self.answered_below is not None,
            "over time": bool(self.columns.time),
            "comparison": bool(self.columns.old),
            "lower end of the comparison": bool(self.columns.old) and both,
        }
        return tuple(name for name, there in questions.items() if there)


@dataclass(frozen=True)
class OutcomesChoices:
    """The candidate that was chosen by its column, if there were several."""

    candidate: str | None = omitted()


@dataclass(frozen=True)
class OutcomesFacts:
    """Counts, and the answers to the questions that were declared; plain tables."""

    n: int
    rows: int
    mean_loss: float
    errors: int | None = omitted()
    candidates: int | None = omitted()
    repeated_ids: int | None = omitted()
    at_least: float | None = omitted()
    below: Answer = field(default=None, metadata=ABSENT)
    slices: Answer = field(default=None, metadata=ABSENT)
    worst: str | None = omitted()
    proved_slices: Answer = field(default=None, metadata=ABSENT)
    abstention: Answer = field(default=None, metadata=ABSENT)
    over_time: Answer = field(default=None, metadata=ABSENT)
    comparison: Answer = field(default=None, metadata=ABSENT)

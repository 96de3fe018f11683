"""What pick-to-learn declares, chooses and finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dudley.certificates.base import MethodDeclared
from dudley.certificates.records import omitted
from dudley.core.errors import InputError

KEYS = ("tag", "worst", "boundary")
EVENTS = ("wrong", "loss")
MOST_PICKS = 1_000_000


@dataclass(frozen=True)
class LearnerTable:
    """The learner in plain data: its name, its seed and its settings."""

    entries: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The table itself."""
        return self.entries

    @staticmethod
    def from_json(table: Any) -> LearnerTable:
        """The table of a file."""
        if not isinstance(table, dict) or not isinstance(table.get("name"), str):
            raise InputError("learner", "a table with a name", table)
        return LearnerTable(table)


@dataclass(frozen=True)
class PickDeclared(MethodDeclared):
    """The learner and the rule, all fixed before the data.

    ``seed`` gives the tags and the initial share; where there is a share, it was drawn at random.
    ``batches`` says how many examples each round picks, the last number for all rounds after it.
    ``rounds`` lists the rounds after which one may stop; the best of several pays for its choice.
    ``initial`` examples are for ordinary training and are not counted. An example fails
    where its margin is at most ``tolerance``, or for the event ``loss`` where its cross-entropy is
    at least ``level`` less ``tolerance``. ``expected`` concentrates the weights of the bound around
    so many picks and failures; ``most`` declares a maximum of picks (the capped form); ``pool`` is
    the size of the finite pool from which the sample was drawn.
    """

    learner: LearnerTable = field(default_factory=LearnerTable)
    seed: int = 0
    key: str = "tag"
    batches: tuple[int, ...] = (1,)
    rounds: tuple[int, ...] = (1000,)
    initial: int = 0
    event: str = "wrong"
    tolerance: float = 0.0
    level: float | None = omitted()
    expected: int | None = omitted()
    most: int | None = omitted()
    pool: int | None = omitted()

    def __post_init__(self):
        super().__post_init__()
        if self.key not in KEYS:
            raise InputError("key", " or ".join(KEYS), self.key)
        if self.event not in EVENTS:
            raise InputError("event", " or ".join(EVENTS), self.event)
        if not 0 <= self.tolerance < 1e9:
            raise InputError("tolerance", "a number ≥ 0", self.tolerance)
        if (self.event == "loss") != (self.level is not None):
            raise InputError("level", "a loss level for the event loss, and else none", self.level)
        if self.level is not None and not 0 < self.level < 1e9:
            raise InputError("level", "a number > 0", self.level)
        if not self.batches or min(self.batches) < 1:
            raise InputError("batches", "numbers of picks ≥ 1", list(self.batches))
        increasing = list(self.rounds) == sorted(set(self.rounds))
        if not self.rounds or not increasing or not 1 <= self.rounds[0] <= self.rounds[-1] < 10**6:
            raise InputError("rounds", "growing numbers from 1 to 999,999", list(self.rounds))
        if not 0 <= self.seed < 1 << 32:
            raise InputError("seed", "a whole number below 2^32", self.seed)
        if self.initial < 0:
            raise InputError("initial", "a number of examples ≥ 0", self.initial)
        if self.most is not None and self.most < 1:
            raise InputError("most", "a number of picks ≥ 1", self.most)
        special = [name for name in ("most", "pool", "expected") if getattr(self, name) is not None]
        if self.most is not None and len(special) > 1:
            raise InputError("most", "neither pool nor expected beside it", ", ".join(special))

    def batch(self, step: int) -> int:
        """How many examples round ``step`` = 1, 2, … picks."""
        return self.batches[min(step, len(self.batches)) - 1]


@dataclass(frozen=True)
class PickLists:
    """The names of the picks, a list for every round, in the order in which they are learnt."""

    rounds: tuple[tuple[str, ...], ...] = ()

    def __iter__(self) -> Iterator[str]:
        return (name for names in self.rounds for name in names)

    def to_json(self) -> list[list[str]]:
        """Lists of names."""
        return [list(names) for names in self.rounds]

    @staticmethod
    def from_json(lists: Any) -> PickLists:
        """The lists of a file."""
        well = isinstance(lists, list) and all(
            isinstance(names, list) and all(isinstance(n, str) and len(n) < 48 for n in names)
            for names in lists
        )
        if not well or sum(map(len, lists)) > MOST_PICKS:
            raise InputError("picks", f"lists of names, at most {MOST_PICKS:,}", "something else")
        return PickLists(tuple(tuple(names) for names in lists))


@dataclass(frozen=True)
class PickChoices:
    """The round after which training stopped, and the picks up to it."""

    stop: int
    picks: PickLists


@dataclass(frozen=True)
class PickFacts:
    """Counts: examples, of which initial; picks, failures left, and k, their sum.

    ``drawn_failures`` are those of all items drawn from a pool, picks and initial share included.
    """

    n: int
    initial: int
    N: int
    rounds: int
    picks: int
    failures: int
    k: int
    errors: int
    error_of_the_rest: float
    undrawn_error_at_most: float | None = omitted()
    drawn_failures: int | None = omitted()

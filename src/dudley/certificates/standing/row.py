"""Rows: where one number stands beside the measured error, and what is to blame for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dudley.core.errors import InputError

KINDS = ("baseline", "certificate", "published")
SCHEMA = "dudley.standing/1"


@dataclass(frozen=True)
class StandingRow:
    """One bound on the error of a model, or why there is none.

    ``value`` is the number that is proved: a certificate, or the derived form of a statement.
    ``printed`` is what the paper prints, with 1 for a constant that it does not name, and ``best``
    the same statement with every cover and rule known here. ``needed`` is the number of examples
    from which ``value`` (``best``) is below guessing, all else kept. ``about`` says whose error it
    is, ``tested`` how often that model errs on the test set, ``sense`` how the bound holds.
    ``verdict`` is the word on the printed form, with the version that was examined.
    ``refused`` says which hypothesis fails, ``culprit`` names it; then there is no number.
    """

    name: str
    kind: str
    about: str = ""
    value: float | None = None
    printed: float | None = None
    best: float | None = None
    needed: dict[str, float] = field(default_factory=dict)
    sense: str = ""
    verdict: str = ""
    terms: dict[str, float] = field(default_factory=dict)
    culprit: str = ""  # what is to blame, in a few words
    blame: str = ""  # the same with its numbers
    note: str = ""
    tested: dict[str, int] = field(default_factory=dict)  # errors, n
    refused: str = ""

    def __post_init__(self):
        if self.kind not in KINDS:
            raise InputError("kind of a row", " or ".join(KINDS), self.kind)
        if (self.value is None) != bool(self.refused):
            raise InputError(
                f"row {self.name}", "a number, or why there is none", "both or neither"
            )

    @property
    def refuted(self) -> bool:
        """Is the printed form false, in the version that was examined?"""
        return self.verdict.startswith("false")


@dataclass(frozen=True)
class Standing:
    """All rows on one model, and what they are measured against."""

    rows: tuple[StandingRow, ...]
    n: int
    delta: float
    guess: float  # the error of guessing the most frequent class, at least
    test: dict[str, Any]  # errors, n, error, at_most
    facts: dict[str, Any]  # margin, ramp loss, norms, what was left out and why

    def of(self, kind: str) -> list[StandingRow]:
        """The rows of a kind that have a number, the least first."""
        return sorted(
            (row for row in self.rows if row.kind == kind and row.value is not None),
            key=lambda row: (row.value, row.needed.get("value", 0.0)),
        )

    @property
    def refused_rows(self) -> list[StandingRow]:
        """The rows without a number."""
        return [row for row in self.rows if row.refused]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        fields = {
            f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "rows"
        }
        return {"schema": SCHEMA} | fields | {"rows": [dataclasses.asdict(r) for r in self.rows]}


def from_json(table: dict[str, Any]) -> Standing:
    """A standing from plain data."""
    if table.get("schema") != SCHEMA:
        raise InputError("standing", f"schema {SCHEMA}", table.get("schema"))
    names = [f.name for f in dataclasses.fields(Standing) if f.name != "rows"]
    rows: Iterable[dict[str, Any]] = table["rows"]
    return Standing(
        tuple(StandingRow(**row) for row in rows), **{name: table[name] for name in names}
    )

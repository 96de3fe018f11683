"""Formats: how a line of a stream becomes a loss in [0, 1].

A format is a frozen dataclass under ``@FORMATS.register``: `begin` makes it of the first line, or
returns None where the line is of another kind; `losses` reads whole lines. Every line is an
outcome: one that cannot be read is refused with its number, never left out, for leaving out lines
by their content would spoil the number. Blank lines are no outcomes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, cast

from dudley.certificates.outcomes.labels import number_or_word
from dudley.certificates.records import from_json, to_json
from dudley.core.errors import InputError
from dudley.core.registry import Registry

FORMATS: Registry[type[LineFormat]] = Registry(
    "format of a stream", "dudley.certificates.stream.formats.{name}"
)
ORDER = ("json-lines", "numbers", "csv")  # the first that fits the first line
TRUE, FALSE = ("1", "true", "yes"), ("0", "false", "no")
LOSS_NAMES, CORRECT_NAMES = ("loss", "error"), ("correct", "is_correct")
PAIRS = (("y", "prediction"), ("label", "prediction"), ("target", "prediction"))


class Unreadable(ValueError):
    """A line that is no outcome: what was expected, what came, and in which line of a block."""

    def __init__(self, expected: str, got: object, at: int = 0) -> None:
        super().__init__(expected)
        self.expected, self.got, self.at = expected, got, at


class LineFormat(ABC):
    """Abstract: lines of one kind. ``header`` lines at the start are no outcomes."""

    name: ClassVar[str]
    header: ClassVar[int] = 0

    @classmethod
    @abstractmethod
    def begin(cls, first: str, column: str | None, correct: bool) -> LineFormat | None:
        """The format of a stream with this first line, or None."""

    @abstractmethod
    def losses(self, lines: Sequence[str]) -> list[float]:
        """A loss for each line; a line that is none raises `Unreadable` with ``at``."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name} | {
            f.name: to_json(getattr(self, f.name)) for f in fields(cast(Any, self))
        }

    @staticmethod
    def from_json(table: Any) -> LineFormat:
        """The format of a table, as a state has it."""
        if not isinstance(table, dict) or not isinstance(table.get("name"), str):
            raise InputError("format of a stream", "a table with a name", repr(table))
        kind = FORMATS[table["name"]]
        rest = {name: value for name, value in table.items() if name != "name"}
        return from_json(kind, rest, "entry", f"the format {kind.name}")


def format_of(
    first: str, name: str | None = None, column: str | None = None, correct: bool = False
) -> LineFormat:
    """The format with this name, or the one that fits the first line."""
    for each in ORDER if name is None else (name,):
        format = FORMATS[each].begin(first, column, correct)
        if format is not None:
            return format
    expected = "a first line with 0 or 1, a JSON object, or the heads of a table"
    raise InputError("stream", expected, first or "an empty line")


def number(value: Any) -> float:
    """A loss in [0, 1] out of a text, a number or a truth value."""
    try:
        loss = math.nan if isinstance(value, str) and "_" in value else float(value)
    except (TypeError, ValueError, OverflowError):
        raise Unreadable("a loss in [0, 1]", repr(value)) from None
    if not 0 <= loss <= 1:  # NaN is not
        raise Unreadable("a loss in [0, 1]", value)
    return loss


def truth(value: Any) -> bool:
    """A truth value: true or false, 1 or 0."""
    word = str(value).strip().lower()
    if word in TRUE or value == 1:
        return True
    if word in FALSE or value == 0:
        return False
    raise Unreadable("true or false (1 or 0)", repr(value))


def columns_of(
    names: Sequence[str], column: str | None, correct: bool
) -> tuple[str, tuple[str, ...]]:
    """What is read: ``loss``, ``correct`` or ``pair``, and the columns that it stands in."""
    fix = "name the column with --column, and --correct if 1 means right"
    if column is not None:
        if column not in names:
            raise InputError("--column", f"one of {', '.join(names)}", column)
        return ("correct" if correct or column in CORRECT_NAMES else "loss"), (column,)
    meanings = dict.fromkeys(LOSS_NAMES, "loss") | dict.fromkeys(CORRECT_NAMES, "correct")
    choices = [(meaning, (name,)) for name, meaning in meanings.items() if name in names]
    choices += [("pair", pair) for pair in PAIRS if set(pair) <= set(names)]
    if len(choices) != 1:
        expected = "a column loss, error or correct, or y and prediction: one of these"
        raise InputError("stream", expected, ", ".join(names) or "none", fix)
    if correct and choices[0][0] != "correct":
        raise InputError("--correct", "a column of right answers", choices[0][1][0], fix)
    return choices[0]


def loss_of(meaning: str, values: Sequence[Any]) -> float:
    """The loss of the values of one line."""
    if meaning == "pair":
        return float(not _equal(*values))
    if meaning == "correct":
        return float(not truth(values[0]))
    return number(values[0])


def _equal(label: Any, prediction: Any) -> bool:
    """Is the prediction the label? One number in two ways of writing it is refused."""
    both = f"{label!r} and {prediction!r}"
    if label == "" or prediction == "":
        raise Unreadable("a label and a prediction", "an empty one")
    for kind in (str, bool):
        if isinstance(label, kind) != isinstance(prediction, kind):
            raise Unreadable("a label and a prediction of one kind", both)
    if not isinstance(label, str):
        if label != label or prediction != prediction:
            raise Unreadable("a label and a prediction", "NaN")
        return label == prediction
    try:
        alike = number_or_word(label) == number_or_word(prediction)
    except InputError:
        raise Unreadable("a label and a prediction", "NaN") from None
    if alike and label != prediction:
        raise Unreadable("a label and a prediction, written alike", both)
    return alike

"""Columns that are collected while a table is read: numbers, truth, labels, ids, a part at a time.

A reader hands over lists of values as its format has them: texts of a CSV file; texts, numbers and
truth values of JSON. Whatever is not what the column should hold is refused with its row. Formulas
are refused and never evaluated; nothing is guessed for a value that is missing.

>>> truth = TruthCollector("correct")
>>> truth.add(["1", "false", True])
>>> truth.array()
array([ True, False,  True])
>>> truth.add(["yes"])
Traceback (most recent call last):
dudley.core.errors.InputError: correct: expected 0, 1, true or false, got 'yes' in row 4
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from dudley.certificates.outcomes.labels import LONGEST, MOST, LabelColumn, label_text
from dudley.core.boundary import limits
from dudley.core.errors import InputError

TRUTH = {
    "0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True,
    "False": False, "True": True, "FALSE": False, "TRUE": True,
    False: False, True: True,
}  # fmt: skip
CHARACTERS = 64 * limits.MIB  # of all labels of a column that differ
DIGEST = 16  # bytes of the hash of an id


class Collector(ABC):
    """Abstract: one column, in parts."""

    def __init__(self, name: str):
        self.name, self.rows, self.parts = name, 0, []

    def add(self, values: Sequence[Any]) -> None:
        """Take in more rows."""
        try:
            part = self.converted(values)
        except (ValueError, TypeError, KeyError, OverflowError):
            for row, value in enumerate(values):
                self._expect_value(row, value)
            raise
        self.parts.append(part)
        self.rows += len(values)

    def _expect_value(self, row: int, value: Any) -> None:
        """Name the first value that is not one of the column."""
        try:
            self.converted([value])
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            if isinstance(error, InputError):
                raise
            shown = "nothing" if value in ("", None) else f"{str(value)[:60]!r}"
            got, fix = f"{shown} in row {self.rows + row + 1}", ""
            if str(value).startswith("="):
                fix = "formulas are not evaluated: save the values"
            elif value in ("", None):
                fix = "say what it is, or leave the row out and say so"
            raise InputError(self.name, self.expected, got, fix) from None

    def array(self) -> np.ndarray:
        """The column."""
        return np.concatenate(self.parts) if self.parts else np.zeros(0)

    expected = ""

    @abstractmethod
    def converted(self, values: Sequence[Any]) -> np.ndarray:
        """The values as an array; one that is none of the column's raises."""


class NumberCollector(Collector):
    """Final: finite numbers."""

    expected = "finite numbers"

    def converted(self, values: Sequence[Any]) -> np.ndarray:
        if any(map("_".__eq__, "".join(v for v in values if isinstance(v, str)))):
            raise ValueError("Python's separator of digits")
        numbers = np.array(list(map(float, values)), np.float64)
        if not np.isfinite(numbers).all() or any(type(value) is bool for value in values):
            raise ValueError("not finite")
        return numbers


class TimeCollector(Collector):
    """Final: times, as numbers, or as dates in the form of ISO 8601; without a zone they are UTC.

    >>> times = TimeCollector("when")
    >>> times.add(["2026-05-01", "2026-05-01T12:30:00", "2026-05-01T13:30:00+01:00"])
    >>> (times.array() - times.array()[0]) / 3600
    array([ 0. , 12.5, 12.5])
    """

    expected = "finite numbers, or dates as 2026-05-01 or 2026-05-01T12:30:00, all of one kind"

    def __init__(self, name: str):
        super().__init__(name)
        self.dates: bool | None = None

    def converted(self, values: Sequence[Any]) -> np.ndarray:
        if self.dates is None and len(values):
            self.dates = _is_date(values[0])
        numbers = NumberCollector(self.name).converted
        return np.array(list(map(_seconds, values))) if self.dates else numbers(values)


def _is_date(value: Any) -> bool:
    """Is it a date, rather than a number?"""
    try:
        _seconds(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not str(value).strip().isdecimal()  # 20260501 is read as a number


def _seconds(value: Any) -> float:
    """Seconds since 1970."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class TruthCollector(Collector):
    """Final: 0 and 1, or true and false."""

    expected = "0, 1, true or false"

    def converted(self, values: Sequence[Any]) -> np.ndarray:
        return np.fromiter(map(TRUTH.__getitem__, values), np.bool_, len(values))


class LabelCollector(Collector):
    """Final: labels, each stored once; 1 and "1" are one, and true is another."""

    expected = f"labels: texts of 1 to {LONGEST:,} characters, or whole numbers"

    def __init__(self, name: str):
        super().__init__(name)
        self.places: dict[str, int] = {}
        self.characters = 0

    def converted(self, values: Sequence[Any]) -> np.ndarray:
        texts = values if set(map(type, values)) == {str} else list(map(label_text, values))
        for text in set(texts).difference(self.places):
            if label_text(text).startswith("="):
                raise ValueError("a formula")
            self.characters += len(text)
            if len(self.places) >= MOST or self.characters > CHARACTERS:
                got = f"{len(self.places):,} of {self.characters:,} characters"
                raise InputError(self.name, f"at most {MOST:,} labels that differ", got)
            self.places[text] = len(self.places)
        return np.fromiter(map(self.places.__getitem__, texts), np.int32, len(texts))

    def column(self) -> LabelColumn:
        """The labels."""
        return LabelColumn.sorted(list(self.places), self.array())


class IdCollector(Collector):
    """Final: ids, as their hashes of 128 bits; spaces around an id are no part of it.

    Two different ids have the same hash only if someone made them so.
    """

    expected = "ids: texts of at least one character, or whole numbers"

    def converted(self, values: Sequence[Any]) -> np.ndarray:
        blake, texts = hashlib.blake2b, map(_id_text, values)
        whole = b"".join(blake(text, digest_size=DIGEST).digest() for text in texts)
        return np.frombuffer(whole, f"S{DIGEST}")


def _id_text(value: Any) -> bytes:
    text = str(value).strip()
    if (type(value) is not str and type(value) is not int) or not text:
        raise ValueError("no id")
    return text.encode()

"""A column of labels, as numbers: one text for each different label, one number for each row.

A table of a million rows has a few dozen slices, so each label is stored once. ``names`` stand in
the order in which a sorted list has them, so that the numbers do not depend on the order of rows.

>>> column = LabelColumn.of(["b", "a", "b"])
>>> column.names, column.codes, list(column)
(('a', 'b'), array([1, 0, 1], dtype=int32), ['b', 'a', 'b'])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from dudley.core.errors import InputError

MOST = 1 << 20  # different labels
LONGEST = 1024  # characters of a label


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """Different labels, sorted, and the place of each row's label among them."""

    names: tuple[str, ...]
    codes: np.ndarray

    def __post_init__(self):
        codes = np.asarray(self.codes, np.int32).copy()
        if codes.ndim != 1 or (len(codes) and not 0 <= codes.min() <= codes.max() < len(self)):
            raise InputError("codes of labels", f"numbers below {len(self)}", f"{codes.shape}")
        if list(self.names) != sorted(set(self.names)):
            raise InputError("labels", "texts that differ, sorted", "others")
        codes.flags.writeable = False
        object.__setattr__(self, "codes", codes)

    def __len__(self) -> int:
        """How many labels differ."""
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        """The label of each row."""
        return (self.names[code] for code in self.codes)

    @property
    def counts(self) -> np.ndarray:
        """How many rows have each label."""
        return np.bincount(self.codes, minlength=len(self))

    def rows(self, name: str) -> np.ndarray:
        """Where the label is this one."""
        if name not in self.names:
            raise InputError("label", "one that a row has", name)
        return self.codes == self.names.index(name)

    @staticmethod
    def of(labels: Sequence[Any] | np.ndarray) -> LabelColumn:
        """The labels of a list or an array: texts, whole numbers or truth values."""
        try:
            values, codes = np.unique(np.asarray(labels), return_inverse=True)
        except (TypeError, ValueError):  # tables, lists, or texts among numbers
            raise InputError("labels", "texts or whole numbers", "others") from None
        if values.dtype.kind not in "biuUO" or np.ndim(labels) != 1:
            raise InputError("labels", "texts or whole numbers", f"{values.dtype}")
        return LabelColumn.sorted([label_text(value) for value in values.tolist()], codes)

    @staticmethod
    def sorted(names: Sequence[str], codes: np.ndarray) -> LabelColumn:
        """Labels in any order, each once; the numbers of the rows follow them."""
        if len(names) > MOST:
            raise InputError("labels", f"at most {MOST:,} that differ", f"{len(names):,}")
        order = sorted(range(len(names)), key=names.__getitem__)
        place = np.empty(len(names), np.int32)
        place[order] = np.arange(len(names))
        return LabelColumn(tuple(names[i] for i in order), place[codes] if len(names) else codes)


def number_or_word(label: str) -> Decimal | str:
    """What two labels share that are one label written in two ways; NaN is refused.

    >>> number_or_word("1.0") == number_or_word("01"), number_or_word("cat ")
    (True, 'cat')
    """
    try:
        number = Decimal(label)
    except InvalidOperation:
        return label.strip()
    if number.is_nan():
        raise InputError("labels", "no NaN", label, "say what the label is, or leave rows out")
    return number


def label_text(value: Any) -> str:
    """A label as a text: true and false as JSON writes them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if not isinstance(value, str | int) or len(text) > LONGEST or not text:
        expected = f"texts of 1 to {LONGEST:,} characters, or whole numbers"
        raise InputError("labels", expected, repr(text)[:80])
    return text

"""A table: the first line has the heads, and every further line is a row.

Fields may be quoted, and must not hold line breaks. The separator is the comma, the semicolon or
the tab that stands in the first line.

>>> format = CsvLines.begin("id;correct", None, False)
>>> format.losses(["a;1", '"b;c";0'])
[0.0, 1.0]
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

from dudley.certificates.stream.line_format import (
    FORMATS,
    LineFormat,
    Unreadable,
    columns_of,
    loss_of,
)
from dudley.core.errors import InputError

MOST = 10_000  # columns
SEPARATORS = ",;\t"


@FORMATS.register("csv")
@dataclass(frozen=True)
class CsvLines(LineFormat):
    """Final: ``columns`` are what is read of each row, of all the heads."""

    name = "csv"
    header = 1
    meaning: str = "loss"
    columns: tuple[str, ...] = ("loss",)
    heads: tuple[str, ...] = ("loss",)
    separator: str = ","

    @classmethod
    def begin(cls, first: str, column: str | None, correct: bool) -> CsvLines | None:
        separator = max(SEPARATORS, key=first.count)
        try:
            heads = [head.strip() for head in next(csv.reader([first], delimiter=separator))]
        except (csv.Error, StopIteration):
            return None
        if len(heads) > MOST or len(set(heads)) < len(heads):
            expected = f"at most {MOST:,} columns with names that come once"
            got = f"{len(heads):,} columns" if len(heads) > MOST else "a name twice"
            raise InputError("heads of the stream", expected, got)
        return cls(*columns_of(heads, column, correct), tuple(heads), separator)

    def losses(self, lines: Sequence[str]) -> list[float]:
        places = [self.heads.index(name) for name in self.columns]
        losses, rows = [], csv.reader(lines, delimiter=self.separator, strict=True)
        i = 0
        try:
            for i, row in enumerate(rows):
                if rows.line_num != i + 1:
                    raise Unreadable("a row on a line of its own", "a field with a line break")
                if len(row) != len(self.heads):
                    raise Unreadable(f"{len(self.heads)} fields", len(row))
                losses.append(loss_of(self.meaning, [row[place].strip() for place in places]))
        except Unreadable as error:
            error.at = i
            raise
        except csv.Error as error:
            raise Unreadable("a row of a table", error, len(losses)) from None
        return losses

"""CSV: one header, then rows of as many fields; separated by commas, semicolons or tabs.

The file is read a line at a time, in UTF-8, a byte-order mark or none. Lines of more than 1 MiB,
rows with more or fewer fields than the header, bytes of another encoding and zero bytes are refused
with the number of the row or line.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import IO

from dudley.certificates.outcomes.columns import MOST
from dudley.certificates.outcomes.reader import READERS, Choose, ColumnParts
from dudley.core.boundary import limits
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal

LINE = limits.MIB  # characters of a line
CELLS = 1 << 18  # that are worked on at once
PART = 256 * limits.MIB  # characters of the lines that are worked on at once


@READERS.register("csv")
def csv_parts(path: Path, choose: Choose) -> ColumnParts:
    """The columns that are used, some thousand rows at a time."""
    return separated(path, choose, None)


@READERS.register("tsv")
def tsv_parts(path: Path, choose: Choose) -> ColumnParts:
    """The same, separated by tabs."""
    return separated(path, choose, "\t")


def separated(path: Path, choose: Choose, delimiter: str | None) -> ColumnParts:
    """Rows of fields; the delimiter is the most frequent one of the header."""
    with open(regular(path), encoding="utf-8-sig", newline="") as file:
        lines = Lines(path, file)
        try:
            head = next(iter(lines), "")
            mark = delimiter or max(",;\t", key=head.count)
            if head.count(mark) > MOST:
                raise refusal(path, f"at most {MOST:,} columns", f"{head.count(mark) + 1:,}")
            header = next(csv.reader([head], delimiter=mark, strict=True), [])
            if not header:
                raise refusal(path, "a line with the names of columns", "none")
            used = choose(header)
            pick = itemgetter(*map(header.index, used))
            rows, done = csv.reader(lines, delimiter=mark, strict=True), 0
            while part := list(islice(rows, max(1, CELLS // len(header)))):
                if any(len(row) != len(header) for row in part):
                    part = [row for row in part if row]  # empty lines say nothing
                    _expect_even(path, part, len(header), done)
                    if not part:
                        continue
                columns = pick(list(zip(*part, strict=True)))
                yield dict(zip(used, columns if len(used) > 1 else [columns], strict=True))
                done, lines.read = done + len(part), 0
        except csv.Error as error:
            raise refusal(path, "rows of CSV", f"{error}, near line {lines.number}") from None
        except UnicodeDecodeError:
            got, fix = f"other bytes after line {lines.number}", "save it as UTF-8"
            raise refusal(path, "text in UTF-8", got, fix=fix) from None


class Lines:
    """The lines of a file, each of bounded length."""

    def __init__(self, path: Path, file: IO[str]):
        self.path, self.file, self.number, self.read = path, file, 0, 0

    def __iter__(self) -> Iterator[str]:
        while line := self.file.readline(LINE + 1):
            self.number += 1
            self.read += len(line)
            if len(line) > LINE or self.read > PART:
                got = f"a longer one, line {self.number}"
                raise refusal(self.path, f"lines of at most {LINE:,} characters", got)
            if "\0" in line:
                got = f"a zero byte in line {self.number}"
                raise refusal(self.path, "text in UTF-8", got, fix="is it a text file?")
            yield line


def _expect_even(path: Path, rows: list[list[str]], width: int, done: int) -> None:
    for i, row in enumerate(rows):
        if len(row) != width:
            got = f"{len(row)} in row {done + i + 1}"
            raise refusal(path, f"{width} fields in every row", got)

"""JSON lines: an object a line, whose names are columns; the first one has the header.

A line may have further names, whose values are not looked at, but none of the used ones may lack.
Lines of more than 1 MiB, other encodings, NaN, and values that are lists or objects where a label
or a number should be, are refused with the number of the line.
"""

from __future__ import annotations

import json
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dudley.certificates.outcomes.reader import READERS, Choose, ColumnParts
from dudley.certificates.outcomes.readers.csv import Lines
from dudley.core.boundary.documents import parse
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal

ROWS = 1 << 14  # that are worked on at once
PLAIN = (str, int, float, bool, type(None))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("not every key once")
    return row


DECODER = json.JSONDecoder(object_pairs_hook=_once)  # made once, not for every line


@READERS.register("jsonl")
def json_lines(path: Path, choose: Choose) -> ColumnParts:
    """The columns that are used, some thousand lines at a time."""
    with open(regular(path), encoding="utf-8-sig", newline="\n") as file:
        lines = Lines(path, file)
        rows = filter(None, (_row(path, lines, text) for text in lines))
        try:
            first = next(rows, None)
            if first is None:
                raise refusal(path, "an object a line", "none")
            used, rows = choose(list(first)), chain([first], rows)
            while part := list(islice(rows, ROWS)):
                yield {name: [_value(path, row, name) for row in part] for name in used}
                lines.read = 0
        except UnicodeDecodeError:
            got, fix = f"other bytes after line {lines.number}", "save it as UTF-8"
            raise refusal(path, "text in UTF-8", got, fix=fix) from None


def _row(path: Path, lines: Lines, text: str) -> dict[str, Any] | None:
    """The object of a line; None of an empty one."""
    if text.isspace():
        return None
    place = f"{path}: line {lines.number}"
    if text.count("{") > 1 or text.count("[") > 0:
        return parse(text, place)  # nested: counted before it is built
    try:
        row = DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise refusal(place, "a JSON object", error) from None
    if not isinstance(row, dict):
        raise refusal(place, "a JSON object", type(row).__name__)
    return row


def _value(path: Path, row: dict[str, Any], name: str) -> Any:
    value = row.get(name)
    if not isinstance(value, PLAIN):
        raise refusal(path, f"a text or a number in {name}", type(value).__name__)
    return value


READERS.register("ndjson")(json_lines)

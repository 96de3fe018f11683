"""A JSON object on each line.

>>> format = JsonLines.begin('{"correct": true}', None, False)
>>> format.losses(['{"correct": true}', '{"correct": 0}'])
[0.0, 1.0]
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dudley.certificates.stream.line_format import (
    FORMATS,
    LineFormat,
    Unreadable,
    columns_of,
    loss_of,
)


@FORMATS.register("json-lines")
@dataclass(frozen=True)
class JsonLines(LineFormat):
    """Final: ``keys`` are what is read of each object."""

    name = "json-lines"
    meaning: str = "loss"
    keys: tuple[str, ...] = ("loss",)

    @classmethod
    def begin(cls, first: str, column: str | None, correct: bool) -> JsonLines | None:
        if not first.startswith("{"):
            return None
        return cls(*columns_of(list(_object(first, 0)), column, correct))

    def losses(self, lines: Sequence[str]) -> list[float]:
        losses = []
        for i, text in enumerate(lines):
            record = _object(text, i)
            try:
                losses.append(loss_of(self.meaning, [_value(record, key) for key in self.keys]))
            except Unreadable as error:
                error.at = i
                raise
        return losses


def _object(text: str, i: int) -> dict[str, Any]:
    try:
        record = DECODER.decode(text)
    except Unreadable as error:
        error.at = i
        raise
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise Unreadable("a JSON object", text, i)
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise Unreadable("every key once", "a key twice")
    return table


def _value(record: dict[str, Any], key: str) -> Any:
    value = record.get(key)
    if value is None or isinstance(value, dict | list):
        raise Unreadable(f"a plain value of {key}", "none" if value is None else "a table")
    return value


DECODER = json.JSONDecoder(object_pairs_hook=_once)  # made once, not for every line

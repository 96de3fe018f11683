"""Two runs, trial by trial: what only one has, and where results differ.

A trial of one run is that of the other if their configs are equal; where a config comes several
times, the first is compared with the first, and so on. A result differs if any of its values does;
NaN equals NaN, and nothing equals what is absent.

>>> from dudley.lab.store.table import TrialTable
>>> first = TrialTable(({"m": 5, "grid.status": "done", "result.loss": 0.25},
...              {"m": 6, "grid.status": "done", "result.loss": 0.5}))
>>> other = TrialTable(({"m": 5, "grid.status": "done", "result.loss": 0.5},
...                {"m": 7, "grid.status": "done", "result.loss": 0.5}))
>>> comparison = compare(first, other)
>>> comparison.only, comparison.common, comparison.columns
((1, 1), 1, {'result.loss': (1, 0.25)})
>>> comparison.fields
{'m': (['6'], ['7'])}
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from dudley.lab.store.schema import DONE
from dudley.lab.store.table import TrialTable

Row = dict[str, Any]


@dataclass(frozen=True)
class RunDifference:
    """``only``: trials that only the first, only the second has. Of those that both have,
    ``common``, ``undone`` are not done in one or the other. ``columns``: in how many trials a
    result differs, and by how much at most (None where it is no number). ``fields``: values of the
    config that only one of the runs has.
    """

    only: tuple[int, int]
    common: int
    undone: int
    differing: int
    columns: dict[str, tuple[int, float | None]]
    fields: dict[str, tuple[list[str], list[str]]]

    @property
    def none(self) -> bool:
        """Are the runs equal, and done?"""
        return self.only == (0, 0) and not self.undone and not self.differing


def compare(left: TrialTable, other: TrialTable) -> RunDifference:
    """Where two tables of runs differ."""
    sides = [_number_rows(table) for table in (left, other)]
    both = [config for config in sides[0] if config in sides[1]]
    pairs = [(sides[0][config], sides[1][config]) for config in both]
    done = [pair for pair in pairs if all(row["grid.status"] == DONE for row in pair)]
    columns: dict[str, tuple[int, float | None]] = {}
    differing = 0
    for first, second in done:
        apart = _differences(first, second)
        differing += bool(apart)
        for name, size in apart.items():
            count, most = columns.get(name, (0, 0.0))
            columns[name] = count + 1, None if most is None or size is None else max(most, size)
    return RunDifference(
        only=(len(sides[0]) - len(both), len(sides[1]) - len(both)),
        common=len(both),
        undone=len(pairs) - len(done),
        differing=differing,
        columns=dict(sorted(columns.items())),
        fields=_fields(left, other),
    )


def _number_rows(table: TrialTable) -> dict[Any, Row]:
    """Rows by their configs, and the how-manieth of that config each is."""
    seen: Counter[Any] = Counter()
    rows = {}
    for row in table:
        config = _config(row)
        rows[config, seen[config]] = row
        seen[config] += 1
    return rows


def _config(row: Row) -> tuple[tuple[str, str], ...]:
    config = {n: v for n, v in row.items() if n.partition(".")[0] not in ("grid", "result")}
    return tuple(
        sorted((name, json.dumps(value, sort_keys=True)) for name, value in config.items())
    )


def _differences(first: Row, second: Row) -> dict[str, float | None]:
    """The results that differ, with the distance of numbers."""
    names = {name for row in (first, second) for name in row if name.startswith("result.")}
    distances: dict[str, float | None] = {}
    for name in names:
        values = [row.get(name) for row in (first, second)]
        left, other = (json.dumps(value, sort_keys=True) for value in values)
        if left != other or (name in first) != (name in second):
            distances[name] = _distance(*values)
    return distances


def _distance(left: Any, other: Any) -> float | None:
    """Of two numbers; None where one is none, or where it is not finite."""
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (left, other))
    return abs(left - other) if numbers and math.isfinite(left - other) else None


def _fields(left: TrialTable, other: TrialTable) -> dict[str, tuple[list[str], list[str]]]:
    """Values of the config that only one side has, by name."""
    sides: list[dict[str, dict[str, None]]] = []
    for table in (left, other):
        values: dict[str, dict[str, None]] = {}
        for row in table:
            for name, value in _config(row):
                values.setdefault(name, {})[value] = None
        sides.append(values)
    fields = {}
    for name in {**sides[0], **sides[1]}:
        first, second = (side.get(name, {}) for side in sides)
        differing = [v for v in first if v not in second], [v for v in second if v not in first]
        if any(differing):
            fields[name] = differing
    return fields

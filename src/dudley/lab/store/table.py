"""What a run has found: one row a trial, in the grid's order, and curves over steps.

Columns are the config's names joined by dots (``task.m``), results with ``result.`` before them,
and ``grid.batch``, ``grid.place``, ``grid.status``, ``grid.hash``, ``grid.key``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.core.canonical import flat
from dudley.core.errors import UnknownName
from dudley.core.extras import missing
from dudley.core.shown import Shown
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import sa, trials
from dudley.lab.store.store import Store


@dataclass(frozen=True)
class TrialTable(Shown):
    """Rows as dicts; columns as arrays; ``to_pandas()`` is a DataFrame (extra ``pandas``).

    >>> rows = TrialTable(({"task.m": 50, "result.success": True}, {"task.m": 60}))
    >>> rows["task.m"], rows.names
    (array([50, 60]), ['task.m', 'result.success'])
    """

    rows: tuple[dict[str, Any], ...]
    shown_as: ClassVar[str] = "trials"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @property
    def names(self) -> list[str]:
        """The columns that some row has, in order of first appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def __getitem__(self, name: str) -> np.ndarray:
        """A column; where a row lacks it, NaN among numbers and None among other things."""
        if not any(name in row for row in self.rows):
            raise UnknownName("column", name, self.names)
        values = [row.get(name) for row in self.rows]
        kinds = {type(value) for value in values}
        if name == "grid.key":
            return np.array(values, dtype=np.uint64)
        if kinds <= {bool} or kinds <= {int} or kinds <= {str}:
            return np.array(values)
        if kinds <= {int, float, type(None)}:
            return np.array([np.nan if value is None else value for value in values], dtype=float)
        column = np.empty(len(values), dtype=object)
        column[:] = values
        return column

    def to_parquet(self, path: Path | str) -> None:
        """The same columns as a Parquet file; one of several types becomes JSON texts."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise missing("pyarrow", "an export as Parquet", "lab") from None
        columns = {}
        for name in self.names:
            column = self[name]
            values = column.tolist() if column.dtype == object else column
            try:
                if any(isinstance(value, dict) for value in values):  # an empty one is no struct
                    raise pyarrow.ArrowInvalid
                columns[name] = pyarrow.array(values)
            except (pyarrow.ArrowException, OverflowError):
                texts = [None if value is None else json.dumps(value) for value in values]
                columns[name] = pyarrow.array(texts)
        pyarrow.parquet.write_table(pyarrow.table(columns), path)


def table(location: RunLocation | Path | str) -> TrialTable:
    """The trials of a run with whatever results they have; a live run may be read."""
    store = Store.open(location)
    with store.database.reading() as connection:
        rows = connection.execute(store.trials().order_by(trials.c.number)).all()
    store.close()
    return TrialTable(tuple(map(flatten, rows)))


def flatten(row: sa.Row) -> dict[str, Any]:
    """The columns of a row of `Store.trials`."""
    about = {"batch": row.pack, "place": row.place, "status": row.status, "hash": row.hash}
    columns = json.loads(row.config) | {"grid": about | {"key": int(row.key, 16)}}
    if row.result is not None:
        columns["result"] = json.loads(row.result)
    return flat(columns)


def curves(location: RunLocation | Path | str, metric: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Steps and values of a metric for every trial, in the grid's order (empty: none yet)."""
    store = Store.open(location)
    with store.database.reading() as connection:
        members = connection.execute(store.trials().order_by(trials.c.number)).all()
        rows = connection.execute(store.points()).all()
    store.close()
    known: set[str] = set()
    steps: dict[int, list[int]] = {member.batch: [] for member in members}
    values: dict[int, list[np.ndarray]] = {batch: [] for batch in steps}
    for row in rows:
        names = json.loads(row.names)
        known |= set(names)
        if metric in names:
            data = np.frombuffer(row.data, dtype="<f4").reshape(len(names), -1)
            steps[row.batch].append(row.step)
            values[row.batch].append(data[names.index(metric)])
    if known and metric not in known:
        raise UnknownName("metric", metric, known)
    none = np.zeros(0, dtype=np.float32)
    stacks = {batch: np.stack(some, axis=1) for batch, some in values.items() if some}
    return [
        (
            np.array(steps[m.batch], dtype=np.int64),
            stacks[m.batch][m.place] if steps[m.batch] else none,
        )
        for m in members
    ]

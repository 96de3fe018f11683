"""A run as Parquet files: what any other tool reads.

``trials.parquet`` has a row a trial, in the grid's order: the columns of `table`, and its number
``grid.trial``, ``grid.name`` and ``grid.seed`` of the grid, ``grid.code`` (sha256 of the modules)
and ``grid.device`` (as told by ``about``) of the start that worked on it last, empty where there is
none, ``grid.attempt``, and ``grid.seconds``, the time of all attempts at its batch that have ended
(NaN where there is none).
``curves.parquet`` has a row a trial and step: ``grid.trial``, ``grid.step``, and a float32 column a
metric (null where a step has none of it), batch by batch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.extras import missing
from dudley.lab.store.checkpoints import write_checkpoint_file
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import batches, points, runs, sa, starts, trials
from dudley.lab.store.store import Store
from dudley.lab.store.table import TrialTable, flatten

ROWS = 1 << 17  # of curves, in memory at a time


def export(location: Store | RunLocation | Path | str, folder: Path | str) -> tuple[Path, Path]:
    """Write both files into a folder; each is whole or as it was before. A live run may be read.

    Both are of one moment. Where one cannot be written, neither is moved into place.
    """
    if not isinstance(location, Store):
        with closing(Store.open(location)) as store:
            return export(store, folder)
    _parquet()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    of_trials, of_curves = folder / "trials.parquet", folder / "curves.parquet"
    with location.database.reading() as connection:
        trials = _trials(location, connection)

        def both(path: Path) -> None:
            trials.to_parquet(path)
            write_checkpoint_file(of_curves, partial(_write_curves, location, connection))

        write_checkpoint_file(of_trials, both)
    return of_trials, of_curves


def _trials(store: Store, connection: sa.Connection) -> TrialTable:
    b, s = batches.c, starts.c
    run = connection.execute(sa.select(runs).where(runs.c.id == store.run)).one()
    columns = (b.id, b.attempt, b.seconds, s.code, s.about)
    query = sa.select(*columns).join(starts, b.start == s.id, isouter=True)
    by_batch: dict[int, dict[str, Any]] = {}
    for row in connection.execute(query.where(b.run == store.run)):
        about = json.loads(row.about or "{}")
        by_batch[row.id] = {
            "grid.name": run.name,
            "grid.seed": int(run.seed),
            "grid.code": row.code or "",
            "grid.device": str(about.get("device", "")),
            "grid.attempt": row.attempt,
            "grid.seconds": row.seconds,
        }
    rows = connection.execute(store.trials().order_by(trials.c.number))
    return TrialTable(
        tuple({"grid.trial": r.number} | flatten(r) | by_batch[r.batch] for r in rows)
    )


def _write_curves(store: Store, connection: sa.Connection, path: Path) -> None:
    pa = _parquet()
    query = sa.select(points.c.names).join(batches, points.c.batch == batches.c.id)
    name_lists = connection.execute(query.where(batches.c.run == store.run).distinct()).scalars()
    metrics = sorted({name for names in name_lists for name in json.loads(names)})
    fields = [("grid.trial", pa.int64()), ("grid.step", pa.int64())]
    kinds = pa.schema(fields + [(name, pa.float32()) for name in metrics])
    with pa.parquet.ParquetWriter(path, kinds) as writer:
        waiting, rows = [], 0
        for columns in _blocks(store, connection, metrics):
            arrays = [pa.array(column, mask=mask) for column, mask in columns]
            waiting.append(pa.record_batch(arrays, schema=kinds))
            rows += len(arrays[0])
            if rows >= ROWS:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting, rows = [], 0
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))


def _blocks(
    store: Store, connection: sa.Connection, metrics: list[str]
) -> Iterator[list[tuple[np.ndarray, np.ndarray | None]]]:
    """A batch at a time: columns with their masks (true: no value)."""
    members: dict[int, list[int]] = {}
    for row in connection.execute(store.trials().order_by(trials.c.batch, trials.c.place)):
        members.setdefault(row.batch, []).append(row.number)
    for batch, rows in _group_points(connection, store):
        numbers = np.array(members[batch], dtype=np.int64)
        S, E = len(rows), len(numbers)
        values = np.zeros((len(metrics), S, E), dtype=np.float32)
        absent = np.ones((len(metrics), S), dtype=bool)
        for i, row in enumerate(rows):
            names = json.loads(row.names)
            data = np.frombuffer(row.data, dtype="<f4").reshape(len(names), E)
            for name, of_trials in zip(names, data, strict=True):
                values[metrics.index(name), i] = of_trials
                absent[metrics.index(name), i] = False
        steps = np.array([row.step for row in rows], dtype=np.int64)
        columns: list[tuple[np.ndarray, np.ndarray | None]]
        columns = [(np.repeat(numbers, S), None), (np.tile(steps, E), None)]
        for value, mask in zip(values, absent, strict=True):
            columns.append((value.T.ravel(), np.tile(mask, E)))
        yield columns


def _group_points(connection: sa.Connection, store: Store) -> Iterator[tuple[int, list[sa.Row]]]:
    """The points of one batch after the other."""
    waiting: list[sa.Row] = []
    for row in connection.execute(store.points().execution_options(yield_per=1000)):
        if waiting and waiting[0].batch != row.batch:
            yield waiting[0].batch, waiting
            waiting = []
        waiting.append(row)
    if waiting:
        yield waiting[0].batch, waiting


def _parquet() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise missing("pyarrow", "an export as Parquet", "lab") from None
    return pyarrow

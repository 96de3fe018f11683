"""Train a grid for an experiment, and keep of it a small table with plain names.

The store of the run stays below ``folder/store/<name>``, so that a broken run goes on; the table is
written when all trials have ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dudley.lab.experiment import Bench

if TYPE_CHECKING:
    from dudley.lab import TrialGrid
    from dudley.lab.store.location import RunLocation

PLAIN = {
    "T": "task.T",
    "m": "task.m",
    "trial": "trial",
    "best": "result.extremes.holdout_accuracy",
    "last": "result.metrics.holdout_accuracy",
    "train_loss_best": "result.extremes.train_loss",
    "train_loss_last": "result.metrics.train_loss",
    "train_accuracy_best": "result.extremes.train_accuracy",
    "train_accuracy_last": "result.metrics.train_accuracy",
    "loss_last": "result.metrics.loss",
    "steps": "result.steps",
}


def trained(
    name: str,
    seed: int,
    protocol: Mapping[str, Any],
    trials: int,
    folder: Path,
    bench: Bench,
    curves: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Columns of all trials, by `PLAIN` names, and curves over the checks as lists."""
    from dudley.lab.training import trainings

    grid = trainings(name, seed, protocol, trials)
    return columns_of(grid, bench.location(folder) / name, bench, curves)


def columns_of(
    grid: TrialGrid, store: RunLocation, bench: Bench, curves: tuple[str, ...]
) -> dict[str, Any]:
    """Train a grid whose store is at ``store``; its columns as `trained` has them."""
    from dudley.lab import curves as read
    from dudley.lab.training import train_grid

    table = train_grid(
        grid, store, bench.device, bench.workers,
        memory=bench.memory, on=bench.on, progress=bench.progress,
    )  # fmt: skip
    columns: dict[str, Any] = {
        plain: table[full] for plain, full in PLAIN.items() if full in table.names
    }
    for metric in curves:
        columns[metric] = [np.asarray(values, np.float32) for _, values in read(store, metric)]
    return columns


def write(path: Path, columns: Mapping[str, Any]) -> None:
    """A Parquet file of these columns; lists of arrays become list columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(columns)), path, compression="zstd")


def read(path: Path) -> dict[str, np.ndarray]:
    """The columns of a Parquet file; a column of lists of one length is a matrix."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    return {
        name: np.stack([*column]) if column.dtype == object and _even(column) else column
        for name, column in columns.items()
    }


def rows_of(columns: Mapping[str, Any], where: np.ndarray) -> dict[str, Any]:
    """The rows at which ``where`` is true."""
    places = np.flatnonzero(where)
    return {name: [column[i] for i in places] for name, column in columns.items()}


def _even(column: np.ndarray) -> bool:
    return len(column) > 0 and isinstance(column[0], np.ndarray) and len({*map(len, column)}) == 1

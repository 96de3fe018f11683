"""How far a run is, counted by the database itself: nothing is loaded but the counts.

>>> from tempfile import TemporaryDirectory
>>> from dudley.lab import Batch, Cost, TrialGrid, Trial, run
>>> trials = [Trial({"m": m, "trial": i}, 2 * m + i) for m in (5, 6) for i in (0, 1)]
>>> grid = TrialGrid(trials, "a", 0)
>>> def work(session):
...     session.finish([{"good": True}] * len(session.batch))
>>> with TemporaryDirectory() as folder:
...     _ = run(grid, [Batch(0, grid.trials, Cost(1, 8.0))], work, folder)
...     print(summary(folder).trials)
...     cells(folder, ["m"])
{'done': 4}
{(5,): {'done': 2}, (6,): {'done': 2}}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.dialects.postgresql import JSONB

from dudley.core.errors import InputError
from dudley.lab.store import schema
from dudley.lab.store.location import RunLocation
from dudley.lab.store.owner import Owner
from dudley.lab.store.schema import (
    DONE,
    FAILED,
    RUNNING,
    WAITING,
    attempts,
    batches,
    runs,
    sa,
    trials,
)
from dudley.lab.store.store import Store

RECENT = 20  # errors that are told


@dataclass(frozen=True)
class Running:
    """A batch that a worker holds: since when, and when it last wrote (Unix seconds, its clock)."""

    batch: int
    attempt: int
    owner: Owner
    began: float | None
    heard: float | None
    share: float


@dataclass(frozen=True)
class FailedAttempt:
    """An attempt that failed; a later one may have succeeded."""

    batch: int
    attempt: int
    ended: float | None
    error: str


@dataclass(frozen=True)
class Summary:
    """Counts by status, work in the units of the costs, who works, and the latest errors.

    ``left`` is what waits or runs: what failed waits for nobody until it is retried. ``speed`` is
    work a second of one worker, over all attempts at batches that are done; None where none is.
    ``seconds`` is the time of all attempts together.
    """

    name: str
    created: str
    batches: dict[str, int]
    trials: dict[str, int]
    work: float
    done: float
    left: float
    seconds: float
    speed: float | None
    running: tuple[Running, ...]
    failures: tuple[FailedAttempt, ...]


def summary(location: Store | RunLocation | Path | str) -> Summary:
    """Where a run stands now; a live run may be asked."""
    if not isinstance(location, Store):
        with closing(Store.open(location)) as store:
            return summary(store)
    b, a = batches.c, attempts.c
    of_run, total = b.run == location.run, sa.func.sum
    behind = sa.case((b.status == DONE, b.work), else_=b.done)
    timed = sa.case((b.seconds.is_not(None), b.work))
    counts = sa.select(
        b.status, sa.func.count(), total(b.size), total(b.work), total(behind), total(b.seconds),
        total(timed),
    )  # fmt: skip
    working = sa.select(b.number, b.attempt, b.owner, b.began, b.heard, b.done / b.work)
    wrong = sa.select(b.number, a.attempt, a.ended, a.error).join(batches, a.batch == b.id)
    latest = wrong.where(of_run, a.outcome == FAILED).order_by(a.ended.desc()).limit(RECENT)
    with location.database.reading() as connection:
        run = connection.execute(sa.select(runs).where(runs.c.id == location.run)).one()
        rows = connection.execute(counts.where(of_run).group_by(b.status).order_by(b.status)).all()
        running = connection.execute(
            working.where(of_run, b.status == RUNNING).order_by(b.number)
        ).all()
        failures = connection.execute(latest).all()
    *_, seconds, work = next((row for row in rows if row.status == DONE), (None, None))
    return Summary(
        run.name,
        run.created,
        {row[0]: row[1] for row in rows},
        {row[0]: row[2] for row in rows},
        sum(row[3] for row in rows),
        sum(row[4] for row in rows),
        sum(max(0.0, row[3] - row[4]) for row in rows if row.status in (WAITING, RUNNING)),
        sum(row[5] or 0.0 for row in rows),
        work / seconds if work and seconds else None,
        tuple(Running(n, i, Owner.read(owner), *rest) for n, i, owner, *rest in running),
        tuple(FailedAttempt(n, i, at, error or "") for n, i, at, error in failures),
    )


def cells(
    location: Store | RunLocation | Path | str, by: Sequence[str]
) -> dict[tuple[Any, ...], dict[str, int]]:
    """Trials by status in each cell: those that agree in some names of the config (``task.m``)."""
    if not by:
        raise InputError("names of a cell", "at least one, such as task.m", "none")
    if not isinstance(location, Store):
        with closing(Store.open(location)) as store:
            return cells(store, by)
    values = [_value(name, location.database.shared).label(f"v{i}") for i, name in enumerate(by)]
    wanted = (
        sa.select(*values, batches.c.status, sa.func.count(), sa.func.min(trials.c.number))
        .join(batches, trials.c.batch == batches.c.id)
        .where(batches.c.run == location.run)
        .group_by(*values, batches.c.status)
    )
    with location.database.reading() as connection:
        rows = connection.execute(wanted).all()
    by_cell: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in sorted(rows, key=lambda row: row[-1]):  # as they come in the grid
        texts, (status, count, _) = row[: len(by)], row[len(by) :]
        cell = tuple(None if text is None else _plain(json.loads(text)) for text in texts)
        counts = by_cell.setdefault(cell, {})
        counts[status] = counts.get(status, 0) + count
    return by_cell


def _value(name: str, shared: bool) -> sa.ColumnElement[str]:
    """What a config has under a dotted name, as JSON text; both databases write numbers as such."""
    parts = name.split(".")
    if set(name) & set('"\\'):
        raise InputError("name of a cell", "words joined by dots, such as task.m", name)
    if not shared:
        return schema.trials.c.config.op("->")("$" + "".join(f'."{part}"' for part in parts))
    value: sa.ColumnElement = sa.cast(schema.trials.c.config, JSONB)
    for part in parts:
        value = value[part]
    return sa.cast(value, sa.Text)


def _plain(value: Any) -> Any:
    """Something that can be a key."""
    return value if isinstance(value, str | int | float | None) else json.dumps(value)

"""The store of a run: one folder, ``store.sqlite`` and ``checkpoints/``, portable as it is.

A store is made once, with its grid and its packing; whoever comes later with the same grid finds
both and goes on, and whoever comes with another grid is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from dudley.core.errors import InputError
from dudley.grid import schema
from dudley.grid.batch import Batch, Cost
from dudley.grid.canonical import canonical
from dudley.grid.database import Database
from dudley.grid.owner import Owner
from dudley.grid.schema import DONE, VERSION, sa
from dudley.grid.trial import Grid, Trial, difference

ANOTHER = "name another folder"


@dataclass(frozen=True)
class Standing:
    """Where one batch stands."""

    number: int
    status: str
    work: float
    done: float
    error: str | None

    @property
    def left(self) -> float:
        """Work still to do."""
        return 0.0 if self.status == DONE else max(0.0, self.work - self.done)


@dataclass(frozen=True)
class Store:
    """An open store; ``run`` is the number of its run."""

    folder: Path
    database: Database
    run: int

    @staticmethod
    def open(folder: Path | str) -> Store:
        """The store that a folder holds."""
        folder = Path(folder)
        if (folder / "store.sqlite").is_file():
            database = Database.file(folder / "store.sqlite")
            with database.reading() as connection:
                found = _found(connection)
            if found is not None:
                if found.schema != VERSION:
                    raise InputError(f"store in {folder}", f"schema {VERSION}", found.schema)
                return Store(folder, database, found.id)
            database.close()
        raise InputError(f"run folder {folder}", "the store of a run", "none", ANOTHER)

    @staticmethod
    def prepare(folder: Path, grid: Grid, batches: Sequence[Batch], resume: bool) -> Store:
        """The folder's store, made if there is none; its packing stands, once made."""
        (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
        database = Database.file(folder / "store.sqlite")
        with database.writing() as connection:
            fresh = _found(connection) is None
            if fresh:
                _make(connection, grid, batches)
        database.close()
        store = Store.open(folder)
        if not fresh:
            if told := difference(store.grid, grid):
                raise InputError(
                    f"run folder {folder}", f"its own grid, {told[0]}", told[1], ANOTHER
                )
            if not resume:
                done = sum(one.status == DONE for one in store.standing())
                got = f"a run with {done} of {len(store.packing)} batches done"
                raise InputError(
                    f"run folder {folder}", "no run in it", got, f"resume, or {ANOTHER}"
                )
        return store

    def close(self) -> None:
        self.database.close()

    def trials(self) -> sa.Select:
        """Every trial of the run, with the number (``pack``) and the status of its batch."""
        b = schema.batches
        return (
            sa.select(*schema.trials.c, b.c.number.label("pack"), b.c.status)
            .join(b, schema.trials.c.batch == b.c.id)
            .where(b.c.run == self.run)
        )

    @cached_property
    def packing(self) -> tuple[Batch, ...]:
        """The batches, as they were packed when the run was made."""
        with self.database.reading() as connection:
            rows = connection.execute(
                sa.select(schema.batches).where(schema.batches.c.run == self.run)
            ).all()
            found = connection.execute(
                self.trials().order_by(schema.trials.c.batch, schema.trials.c.place)
            ).all()
        members: dict[int, list[Trial]] = {row.id: [] for row in rows}
        for trial in found:
            members[trial.batch].append(Trial(json.loads(trial.config), int(trial.key, 16)))
        return tuple(
            Batch(row.number, tuple(members[row.id]), Cost(row.bytes, row.work))
            for row in sorted(rows, key=lambda row: row.number)
        )

    @cached_property
    def grid(self) -> Grid:
        """The trials in the grid's own order."""
        own = sa.select(schema.runs).where(schema.runs.c.id == self.run)
        with self.database.reading() as connection:
            run = connection.execute(own).one()
            rows = connection.execute(self.trials().order_by(schema.trials.c.number)).all()
        trials = [Trial(json.loads(row.config), int(row.key, 16)) for row in rows]
        return Grid(trials, run.name, int(run.seed))

    def standing(self) -> list[Standing]:
        """Every batch, in the order of the packing."""
        c = schema.batches.c
        wanted = sa.select(c.number, c.status, c.work, c.done, c.error)
        with self.database.reading() as connection:
            rows = connection.execute(wanted.where(c.run == self.run).order_by(c.number)).all()
        return [Standing(*row) for row in rows]

    def begin(self, code: str, about: Mapping[str, Any]) -> tuple[int, set[str]]:
        """Note a start: its number, and the code versions of the starts before it."""
        with self.database.writing() as connection:
            before = set(connection.execute(sa.select(schema.starts.c.code)).scalars())
            start = _added(
                connection,
                schema.starts,
                run=self.run,
                at=_now(),
                owner=Owner.me().text,
                code=code,
                about=canonical(dict(about), "about"),
            )
        return start, before


def _added(connection: sa.Connection, table: sa.Table, **values) -> int:
    """Insert a row; the number it got."""
    key = connection.execute(sa.insert(table).values(**values)).inserted_primary_key
    assert key is not None
    return key[0]


def _found(connection: sa.Connection) -> sa.Row | None:
    if not sa.inspect(connection).has_table("runs"):
        return None
    return connection.execute(sa.select(schema.runs.c.id, schema.runs.c.schema)).first()


def _make(connection: sa.Connection, grid: Grid, batches: Sequence[Batch]) -> None:
    """Tables, run, batches and trials, in the caller's transaction."""
    number = {trial.hash: i for i, trial in enumerate(grid.trials)}
    packed = sorted(trial.hash for batch in batches for trial in batch.trials)
    if packed != sorted(number):
        got = f"{len(packed)} places for {len(grid)} trials, {len(set(packed) & set(number))} met"
        raise InputError("batches", "every trial of the grid in one place", got, "use plan")
    schema.metadata.create_all(connection)
    about = {"name": grid.name, "seed": str(grid.seed), "hash": grid.hash}
    run = _added(connection, schema.runs, schema=VERSION, created=_now(), **about)
    for i, batch in enumerate(batches):
        cost = {"bytes": batch.cost.bytes, "work": batch.cost.work}
        made = _added(connection, schema.batches, run=run, number=i, hash=batch.hash, **cost)
        connection.execute(
            sa.insert(schema.trials),
            [
                {
                    "batch": made,
                    "place": place,
                    "number": number[trial.hash],
                    "hash": batch.hash_of(place),
                    "key": f"{trial.key:016x}",
                    "config": canonical(trial.config),
                }
                for place, trial in enumerate(batch.trials)
            ],
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

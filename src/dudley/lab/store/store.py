"""The store of a run: one folder, ``store.sqlite`` and ``checkpoints/``, portable as it is; or one
run of a PostgreSQL database (`RunLocation`), for workers on several machines.

A store is made once, with its grid and its packing; whoever comes later with the same grid finds
both and goes on, and whoever comes with another grid is refused.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from dudley.core.canonical import canonical
from dudley.core.errors import InputError
from dudley.lab.grid.batch import Batch, Cost
from dudley.lab.grid.trial import Trial, TrialGrid, difference
from dudley.lab.store import schema
from dudley.lab.store.database import Database, StoreFailed, is_read_only
from dudley.lab.store.location import RunLocation
from dudley.lab.store.owner import Owner
from dudley.lab.store.schema import DONE, VERSION, sa
from dudley.lab.store.version import ensure, expect_current, version_of


@dataclass(frozen=True)
class BatchStatus:
    """Where one batch stands; it has ``size`` trials."""

    number: int
    status: str
    work: float
    done: float
    error: str | None
    size: int

    @property
    def left(self) -> float:
        """Work still to do."""
        return 0.0 if self.status == DONE else max(0.0, self.work - self.done)


@dataclass(frozen=True)
class Store:
    """An open store; ``run`` is the number of its run."""

    location: RunLocation
    database: Database
    run: int

    @staticmethod
    def open(location: RunLocation | Path | str) -> Store:
        """The store of a location; one whose tables are of another version is refused."""
        location = RunLocation.of(location)
        if location.folder is not None and not (location.folder / "store.sqlite").is_file():
            raise _no_run(location)
        try:
            database, run = _open_run(Database.of(location), location)
        except StoreFailed as error:
            if location.folder is None or not is_read_only(error.__cause__):
                raise
            database, run = _open_run(Database.copied(location.folder / "store.sqlite"), location)
            database.freeze()
        return Store(location, database, run)

    @staticmethod
    def prepare(
        location: RunLocation | Path | str, grid: TrialGrid, batches: Sequence[Batch], resume: bool
    ) -> Store:
        """The store of a location; it is made if there is none.

        A store that exists keeps the packing with which it was made.
        """
        location = RunLocation.of(location)
        if location.folder is not None:
            (location.folder / "checkpoints").mkdir(parents=True, exist_ok=True)
        database = Database.of(location)
        try:
            with database.making() as connection:
                ensure(connection, location)
                fresh = _run_number(connection, location) is None
                if fresh:
                    _make(connection, location, grid, batches)
        finally:
            database.close()
        store = Store.open(location)
        if not fresh:
            if differing := difference(store.grid, grid):
                raise InputError(
                    location.description,
                    f"its own grid, {differing[0]}",
                    differing[1],
                    location.another,
                )
            if not resume:
                done = sum(one.status == DONE for one in store.standing())
                got = f"a run with {done} of {len(store.packing)} batches done"
                raise InputError(
                    location.description, "no run in it", got, f"resume, or {location.another}"
                )
        return store

    def close(self) -> None:
        self.database.close()
        if self.location.folder is None and "files" in vars(self):
            shutil.rmtree(self.files, ignore_errors=True)

    @cached_property
    def files(self) -> Path:
        """Where files of checkpoints lie: the run's folder, or a private one of this process."""
        if self.location.folder is not None:
            return self.location.folder
        made = Path(tempfile.mkdtemp(prefix="dudley-"))
        weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
        (made / "checkpoints").mkdir()
        return made

    def trials(self) -> sa.Select:
        """Every trial of the run, with the number (``pack``) and the status of its batch."""
        b = schema.batches
        return (
            sa.select(*schema.trials.c, b.c.number.label("pack"), b.c.status)
            .join(b, schema.trials.c.batch == b.c.id)
            .where(b.c.run == self.run)
        )

    def points(self) -> sa.Select:
        """Every point of the run, batch by batch, in the order of steps."""
        p, b = schema.points, schema.batches
        query = sa.select(p).join(b, p.c.batch == b.c.id).where(b.c.run == self.run)
        return query.order_by(p.c.batch, p.c.step)

    @cached_property
    def packing(self) -> tuple[Batch, ...]:
        """The batches, as they were packed when the run was made."""
        return tuple(sorted(self.packed.values(), key=lambda batch: batch.number))

    @cached_property
    def packed(self) -> dict[int, Batch]:
        """The batches by their numbers in the table."""
        with self.database.reading() as connection:
            rows = connection.execute(
                sa.select(schema.batches).where(schema.batches.c.run == self.run)
            ).all()
            trial_rows = connection.execute(
                self.trials().order_by(schema.trials.c.batch, schema.trials.c.place)
            ).all()
        members: dict[int, list[Trial]] = {row.id: [] for row in rows}
        for trial in trial_rows:
            members[trial.batch].append(Trial(json.loads(trial.config), int(trial.key, 16)))
        return {
            row.id: Batch(row.number, tuple(members[row.id]), Cost(row.bytes, row.work))
            for row in rows
        }

    @cached_property
    def grid(self) -> TrialGrid:
        """The trials in the grid's own order."""
        query = sa.select(schema.runs).where(schema.runs.c.id == self.run)
        with self.database.reading() as connection:
            run = connection.execute(query).one()
            rows = connection.execute(self.trials().order_by(schema.trials.c.number)).all()
        trials = [Trial(json.loads(row.config), int(row.key, 16)) for row in rows]
        return TrialGrid(trials, run.name, int(run.seed))

    def standing(self) -> list[BatchStatus]:
        """The status of every batch, in the order of the packing."""
        c = schema.batches.c
        wanted = sa.select(c.number, c.status, c.work, c.done, c.error, c.size)
        with self.database.reading() as connection:
            rows = connection.execute(wanted.where(c.run == self.run).order_by(c.number)).all()
        return [BatchStatus(*row) for row in rows]

    def starts(self) -> list[tuple[str, str, str]]:
        """When the run was begun or continued, by which process, and with which code."""
        c = schema.starts.c
        wanted = sa.select(c.at, c.owner, c.code).where(c.run == self.run).order_by(c.id)
        with self.database.reading() as connection:
            return [(at, owner, code) for at, owner, code in connection.execute(wanted)]

    def begin(self, code: str, about: Mapping[str, Any]) -> tuple[int, set[str]]:
        """Note a start: its number, and the code versions of the starts before it."""
        before = {code for *_, code in self.starts()}
        with self.database.writing() as connection:
            start = _insert(
                connection,
                schema.starts,
                run=self.run,
                at=_now(),
                owner=Owner.me().text,
                code=code,
                about=canonical(dict(about), "about"),
            )
        return start, before


def _open_run(database: Database, location: RunLocation) -> tuple[Database, int]:
    """The database and the number of the location's run.

    Tables of another version are refused, and then no connection stays open.
    """
    try:
        with database.reading() as connection:
            version = version_of(connection)
            expect_current(version, location)
            run = None if version is None else _run_number(connection, location)
        if run is None:
            raise _no_run(location)
    except BaseException:
        database.close()
        raise
    return database, run


def _no_run(location: RunLocation) -> InputError:
    return InputError(location.description, "the store of a run", "none", location.another)


def _run_number(connection: sa.Connection, location: RunLocation) -> int | None:
    """The number of the location's run; a folder has one run, without a label."""
    query = sa.select(schema.runs.c.id)
    if location.run is not None:
        query = query.where(schema.runs.c.label == location.run)
    return connection.execute(query).scalar()


def _make(
    connection: sa.Connection, location: RunLocation, grid: TrialGrid, batches: Sequence[Batch]
) -> None:
    """Run, batches and trials, in the caller's transaction."""
    number = {trial.hash: i for i, trial in enumerate(grid.trials)}
    packed = sorted(trial.hash for batch in batches for trial in batch.trials)
    if packed != sorted(number):
        got = f"{len(packed)} places for {len(grid)} trials, {len(set(packed) & set(number))} met"
        raise InputError("batches", "every trial of the grid in one place", got, "use plan")
    about = {"name": grid.name, "seed": str(grid.seed), "hash": grid.hash, "label": location.run}
    run = _insert(connection, schema.runs, schema=VERSION, created=_now(), **about)
    rows = [
        {
            "number": i,
            "hash": batch.hash,
            "bytes": batch.cost.bytes,
            "work": batch.cost.work,
            "size": len(batch),
        }
        for i, batch in enumerate(batches)
    ]
    connection.execute(sa.insert(schema.batches).values(run=run), rows)
    c = schema.batches.c
    made = connection.execute(sa.select(c.number, c.id).where(c.run == run)).all()
    ids: dict[int, int] = {row.number: row.id for row in made}
    connection.execute(
        sa.insert(schema.trials),
        [
            {
                "batch": ids[i],
                "place": at,
                "number": number[trial.hash],
                "hash": batch.hash_of(at),
                "key": f"{trial.key:016x}",
                "config": canonical(trial.config),
            }
            for i, batch in enumerate(batches)
            for at, trial in enumerate(batch.trials)
        ],
    )


def _insert(connection: sa.Connection, table: sa.Table, **values) -> int:
    """Insert a row; the number it got."""
    key = connection.execute(sa.insert(table).values(**values)).inserted_primary_key
    assert key is not None
    return key[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

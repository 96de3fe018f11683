"""The stores of a run by their names: a folder may hold several, a database too."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from dudley.core.errors import InputError
from dudley.lab.store.database import Database
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import runs, sa
from dudley.lab.store.version import expect_current, version_of


def stores(where: RunLocation | Path | str) -> dict[str, RunLocation]:
    """All stores at a location and below it; a location that is one itself has the name ''.

    >>> from tempfile import TemporaryDirectory
    >>> from dudley.lab import Batch, Cost, TrialGrid, Trial, run
    >>> grid = TrialGrid([Trial({"m": 1}, 0)], "a", 0)
    >>> def work(session):
    ...     session.finish([{}])
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("far", "near"):
    ...         _ = run(grid, [Batch(0, grid.trials, Cost(1, 1.0))], work, f"{folder}/store/{name}")
    ...     list(stores(folder))
    ['far', 'near']
    """
    location = RunLocation.of(where)
    locations = (
        _stores_of_a_database(location)
        if location.folder is None
        else _stores_below(location.folder)
    )
    if not locations:
        raise InputError(location.description, "the store of a run", "none", location.another)
    return locations


def _stores_below(folder: Path) -> dict[str, RunLocation]:
    named: dict[str, RunLocation] = {}
    for file in sorted(filter(has_a_run, folder.rglob("store.sqlite"))):
        whole = file.parent.relative_to(folder)
        short = whole.relative_to("store") if whole.parts[:1] == ("store",) else whole
        name = "" if short == Path() else short.as_posix()
        named[whole.as_posix() if name in named else name] = RunLocation(folder=file.parent)
    return named


def has_a_run(file: Path) -> bool:
    """Does this SQLite file hold a run?

    It is opened for reading only, so that a stranger's file is not changed. A file that cannot be
    read counts as one: whoever opens it then sees the error.
    """
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {"runs", "batches"} <= {name for (name,) in rows}
    except sqlite3.Error:
        return True


def _stores_of_a_database(location: RunLocation) -> dict[str, RunLocation]:
    database = Database.of(location)
    try:
        with database.reading() as connection:
            version = version_of(connection)
            if version is None:
                return {}
            expect_current(version, location)
            labels = connection.execute(sa.select(runs.c.label).order_by(runs.c.label)).scalars()
            below = f"{location.run}/"
            return {
                label.removeprefix(location.run or "").removeprefix("/"): RunLocation(
                    url=location.url, run=label
                )
                for label in labels
                if label == location.run or label.startswith(below)
            }
    finally:
        database.close()

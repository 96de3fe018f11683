"""One live run at a location: a lock that is freed when its holder dies, however it dies.

In a folder it is SQLite's own lock on an empty file, which works wherever the store works. On
PostgreSQL it is an advisory lock of a connection that does nothing else: the server frees it when
the connection ends, and asks a silent peer for a sign of life, so that a machine that vanished
holds it for about a minute. (A pooler that hands connections out by the transaction breaks it:
name the server itself.) Claims keep results right without this lock; it saves the work of two
runs that would take batches from each other.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from dudley.core.errors import InputError
from dudley.lab.store.database import Database
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import sa

KEEPALIVE = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 3}


@contextmanager
def run_lock(location: RunLocation | Path | str) -> Iterator[None]:
    """Hold the location; another live holder is an error that says so."""
    location = RunLocation.of(location)
    with _file(location, location.folder) if location.folder is not None else _advisory(location):
        yield


@contextmanager
def _file(location: RunLocation, folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError("location of a run", "a folder, or a way to a new one", folder) from None
    with closing(sqlite3.connect(folder / "lock", timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise _busy(location) from None
        yield


@contextmanager
def _advisory(location: RunLocation) -> Iterator[None]:
    from sqlalchemy.exc import SQLAlchemyError

    digest = hashlib.sha256(f"dudley {location.run}".encode()).digest()
    key = int.from_bytes(digest[:8], "big", signed=True)
    database = Database.of(location)
    try:
        with database.telling():
            connection = database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        with closing(connection):
            with database.telling():
                for name, value in KEEPALIVE.items():
                    connection.exec_driver_sql(f"SET {name} = {value}")
                attempt = sa.select(sa.func.pg_try_advisory_lock(key))
                taken = connection.execute(attempt).scalar_one()
            if not taken:
                raise _busy(location)
            try:
                yield
            finally:  # at once: a server sees the end of a connection in its own time
                with suppress(SQLAlchemyError):
                    connection.execute(sa.select(sa.func.pg_advisory_unlock(key)))
    finally:
        database.close()  # the connection's end is the lock's


def _busy(location: RunLocation) -> InputError:
    return InputError(
        location.description,
        "no other live run in it",
        "one that holds it now",
        f"wait for it to end, stop it, or {location.another}",
    )

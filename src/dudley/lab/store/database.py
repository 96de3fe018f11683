"""A database by its URL: transactions that read, and transactions that write.

SQLite keeps a write-ahead log: readers never wait, writers wait for each other up to a minute and
take the lock when they begin, so that none fails half-way. A process killed at any moment leaves
each transaction whole or absent; after a loss of power the last ones may be absent, never torn.

PostgreSQL, by psycopg 3. What reads is REPEATABLE READ, READ ONLY: several statements see one
moment, and a transaction that writes nothing is never refused. What writes is READ COMMITTED: each
begins by locking one row (a batch, of the attempt that it holds; see `dudley.lab.store.claims`) and
touches only what hangs on it. Who waits for the lock finds, by then, either the row as it expects
it or no such row; a stricter level would turn that wait into an error and a retry, and protect
nothing more. Everybody locks in that order, so that nobody waits in a circle.

What goes wrong in the database itself (no room, no right, no server) is a `StoreFailed` in one
line; the transaction is gone, and all before it stands.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import event, exc
from sqlalchemy.pool import StaticPool

from dudley.core.errors import DudleyError
from dudley.core.extras import missing
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import sa

# WAL: readers and one writer do not wait for each other. NORMAL: a commit survives the death of
# the process; after a power cut the last ones may be lost, and their batches are computed again.
# A writer waits up to 60 s for its turn, since a hundred processes may finish at once.
PRAGMAS = ("busy_timeout=60000", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON")
MAKING = 0x6475646C6579  # the advisory lock of who makes tables: "dudley"
NO_RIGHT = "42501"  # SQLSTATE insufficient_privilege


class StoreFailed(DudleyError):
    """The database of a store does not do what it was asked; nothing of that write is kept."""


class Database:
    """Connections to one database; each process opens its own. ``where`` stands in errors."""

    def __init__(self, engine: sa.Engine, where: str):
        self.engine, self.where = engine, where
        self.shared = engine.dialect.name != "sqlite"
        self._reads = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._writes = {"isolation_level": "READ COMMITTED"}
        if not self.shared:
            self._reads, self._writes = {}, {"dudley_writes": True}
            event.listen(engine, "begin", _begin)

    @staticmethod
    def of(location: RunLocation) -> Database:
        """The database of a location; nothing is opened yet."""
        if location.folder is not None:
            return Database.file(location.folder / "store.sqlite")
        assert location.url is not None
        try:
            url = sa.make_url(location.url).set(drivername="postgresql+psycopg")
            return Database(sa.create_engine(url, pool_pre_ping=True), str(location))
        except ImportError:
            raise missing("psycopg", "a store on PostgreSQL", "postgres") from None

    @staticmethod
    def file(path: Path) -> Database:
        engine = sa.create_engine(sa.URL.create("sqlite", database=str(path)))
        event.listen(engine, "connect", _settle)
        return Database(engine, str(path))

    @staticmethod
    def copied(path: Path) -> Database:
        """A copy in memory of a file that may not be written; where nobody writes, it is whole."""
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        log = path.with_name(path.name + "-wal")
        idle = "" if log.exists() and log.stat().st_size else "&immutable=1"
        try:
            source = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro{idle}", uri=True)
            source.backup(copy)
            source.close()
        except sqlite3.Error as error:
            raise _failure(path, error) from error
        engine = sa.create_engine("sqlite://", creator=lambda: copy, poolclass=StaticPool)
        return Database(engine, f"{path}, which may not be written")

    def freeze(self) -> None:
        """From here on this copy in memory refuses to be written."""
        with self.reading() as connection:
            connection.exec_driver_sql("PRAGMA query_only=ON")

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent view."""
        with self._transaction(self._reads) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """All of it, or nothing."""
        with self._transaction(self._writes) as connection:
            yield connection

    @contextmanager
    def making(self) -> Iterator[sa.Connection]:
        """As `writing`, for tables and runs: one at a time in the whole database."""
        with self.writing() as connection:
            if self.shared:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MAKING)))
            yield connection

    @contextmanager
    def _transaction(self, options: dict) -> Iterator[sa.Connection]:
        with (
            self.telling(),
            self.engine.connect().execution_options(**options) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def telling(self) -> Iterator[None]:
        """What the database cannot do, in one line."""
        try:
            yield
        except (exc.DatabaseError, sqlite3.DatabaseError) as error:
            if _is_a_mistake_of_ours(error):
                raise
            raise _failure(self.where, error) from error

    def close(self) -> None:
        self.engine.dispose()


def is_read_only(error: BaseException | None) -> bool:
    """Is it that a file of SQLite may be read and not written?"""
    cause = getattr(error, "orig", error)
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def _is_a_mistake_of_ours(error: Exception) -> bool:
    """Did this package send a statement that it should not have sent?"""
    cause = getattr(error, "orig", error)
    if getattr(cause, "sqlstate", None) == NO_RIGHT:
        return False
    wrong = (exc.IntegrityError, exc.DataError, exc.ProgrammingError)
    return isinstance(error, wrong)


def _failure(where: object, error: Exception) -> StoreFailed:
    cause = str(getattr(error, "orig", error)).strip()
    first = cause.splitlines()[0] if cause else type(error).__name__
    return StoreFailed(
        f"store {where}: {first}; what was written before stands, and the same call goes on "
        "once that is mended"
    )


def _settle(connection, record) -> None:
    """SQLAlchemy says when a transaction begins, not Python's driver."""
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("dudley_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

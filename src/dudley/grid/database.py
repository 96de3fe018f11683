"""A database by its URL: transactions that read, and transactions that write.

SQLite keeps a write-ahead log: readers never wait, writers wait for each other up to a minute and
take the lock when they begin, so that none fails half-way. A process killed at any moment leaves
each transaction whole or absent; after a loss of power the last ones may be absent, never torn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import event

from dudley.grid.schema import sa

PRAGMAS = ("busy_timeout=60000", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON")


class Database:
    """Connections to one database; each process opens its own."""

    def __init__(self, url: str | sa.URL):
        self.engine = sa.create_engine(url)
        if self.engine.dialect.name == "sqlite":
            event.listen(self.engine, "connect", _settle)
            event.listen(self.engine, "begin", _begin)

    @staticmethod
    def file(path: Path) -> Database:
        return Database(sa.URL.create("sqlite", database=str(path)))

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent view."""
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """All of it, or nothing."""
        with (
            self.engine.connect().execution_options(dudley_writes=True) as connection,
            connection.begin(),
        ):
            yield connection

    def close(self) -> None:
        self.engine.dispose()


def _settle(connection, record) -> None:
    """SQLAlchemy says when a transaction begins, not Python's driver."""
    connection.isolation_level = None
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("dudley_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

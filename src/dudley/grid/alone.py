"""One live run in a folder: a lock that the system frees when its holder dies, however it dies.

It is SQLite's own lock on an empty file, which works wherever the store works.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dudley.core.errors import InputError


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder; another live holder is an error that says so."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "lock", timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise InputError(
                f"run folder {folder}",
                "no other live run in it",
                "one that holds it now",
                "wait for it to end, stop it, or name another folder",
            ) from None
        yield

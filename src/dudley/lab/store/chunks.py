"""The bytes of a checkpoint as rows of at most 1 MiB, where a run has no folder of its own.

Neither side holds more than one chunk in memory, and a checkpoint is as large as the database has
room: PostgreSQL's own limit is 32 TiB for the table of all of them. It crosses the network whenever
it is kept, so that one of a gigabyte wants to be kept rarely.
"""

from __future__ import annotations

from pathlib import Path

from dudley.lab.store.schema import chunks, sa

SIZE = 1 << 20


def put(connection: sa.Connection, batch: int, step: int, path: Path) -> None:
    """A file into rows, in the caller's transaction."""
    number = 0
    with path.open("rb") as file:
        while data := file.read(SIZE):
            row = {"batch": batch, "step": step, "number": number, "data": data}
            connection.execute(sa.insert(chunks).values(row))
            number += 1


def get(connection: sa.Connection, batch: int, step: int, path: Path) -> None:
    """Rows into a file; whether it is whole, its sha256 says."""
    c = chunks.c
    query = sa.select(c.data).where(c.batch == batch, c.step == step)
    number = 0
    with path.open("wb") as file:
        while (data := connection.execute(query.where(c.number == number)).scalar()) is not None:
            file.write(data)
            number += 1

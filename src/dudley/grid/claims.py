"""Claims: at any time one process holds a batch, and only the holder writes for it.

A claim counts the batch's attempt up and is good for that attempt alone: each write checks it in
its own transaction, so that a holder that was given up for lost can no longer change anything.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dudley.core.errors import DudleyError, InputError
from dudley.grid.owner import Owner
from dudley.grid.schema import FAILED, RUNNING, WAITING, batches, checkpoints, sa
from dudley.grid.store import Store

# What a batch that waits has behind it: the work up to its latest checkpoint.
KEPT_WORK = sa.func.coalesce(
    sa.select(sa.func.max(checkpoints.c.done))
    .where(checkpoints.c.batch == batches.c.id)
    .scalar_subquery(),
    0.0,
)


class Lost(DudleyError):
    """The batch is no longer held by who writes for it."""


@dataclass(frozen=True)
class Claim:
    """The right to write for a batch (by its number in the table), for one attempt."""

    store: Store
    id: int
    attempt: int

    @contextmanager
    def writing(self, **values) -> Iterator[sa.Connection]:
        """A transaction of the holder, which may set columns of the batch on the way."""
        with self.store.database.writing() as connection:
            if not self._set(connection, attempt=self.attempt, **values):
                raise Lost(f"batch {self.id}, attempt {self.attempt}, was given to another worker")
            yield connection

    def release(self) -> None:
        """Back to waiting, if it is still held and not done."""
        with self.store.database.writing() as connection:
            self._set(connection, status=WAITING, owner=None, done=KEPT_WORK)

    def fail(self, error: str) -> None:
        """Given up until the next start, with what went wrong."""
        with self.store.database.writing() as connection:
            self._set(connection, status=FAILED, owner=None, error=error)

    def _set(self, connection: sa.Connection, **values) -> bool:
        c = batches.c
        held = (c.id == self.id, c.attempt == self.attempt, c.status == RUNNING)
        return connection.execute(sa.update(batches).where(*held).values(**values)).rowcount == 1


def claim(store: Store, owner: Owner, start: int) -> Claim | None:
    """The first batch that waits, now held by the owner; None where none waits."""
    c = batches.c
    waiting = sa.select(c.id, c.attempt).where(c.run == store.run, c.status == WAITING)
    with store.database.writing() as connection:
        row = connection.execute(waiting.order_by(c.number).limit(1)).first()
        if row is None:
            return None
        taken = Claim(store, row.id, row.attempt + 1)
        values = {"status": RUNNING, "attempt": taken.attempt, "owner": owner.text, "start": start}
        connection.execute(sa.update(batches).where(c.id == row.id).values(**values, error=None))
    return taken


def held(store: Store) -> list[tuple[Claim, Owner]]:
    """The batches that run, with their owners."""
    c = batches.c
    wanted = sa.select(c.id, c.attempt, c.owner).where(c.run == store.run, c.status == RUNNING)
    with store.database.reading() as connection:
        rows = connection.execute(wanted).all()
    return [(Claim(store, row.id, row.attempt), Owner.read(row.owner)) for row in rows]


def take_over(store: Store, patience: float = 10.0) -> int:
    """Free what dead owners hold and what failed; returns how many owners were dead.

    Hypothesis: the caller is alone with the folder (`alone`), so that an owner on another machine
    is dead too. One that still lives here is a worker about to end with its run: it is given
    ``patience`` seconds.
    """
    freed, end = 0, time.monotonic() + patience
    while still := held(store):
        for one, owner in still:
            if not owner.alive() or owner == Owner.me():
                one.release()
                freed += 1
            elif time.monotonic() > end:
                raise InputError(
                    f"run folder {store.folder}",
                    "no live worker in it",
                    owner,
                    "end it, then resume",
                )
        time.sleep(0.02)
    with store.database.writing() as connection:
        again = sa.update(batches).where(batches.c.run == store.run, batches.c.status == FAILED)
        connection.execute(again.values(status=WAITING, done=KEPT_WORK))
    return freed

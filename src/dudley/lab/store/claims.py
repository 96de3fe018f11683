"""Claims: at any time one process holds a batch, and only the holder writes for it.

A claim counts the batch's attempt up and is good for that attempt alone: each write begins with an
UPDATE of the batch's row *where the attempt is still this one*, in its own transaction, so that a
holder that was given up for lost can no longer change anything. On PostgreSQL that UPDATE takes the
row's lock to the end of the transaction, and who looks for a batch that waits skips those that
others are taking (FOR UPDATE SKIP LOCKED); on SQLite one transaction writes at a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dudley.core.errors import DudleyError, InputError
from dudley.lab.store.owner import Owner
from dudley.lab.store.schema import (
    FAILED,
    RELEASED,
    RUNNING,
    WAITING,
    attempts,
    batches,
    checkpoints,
    sa,
)
from dudley.lab.store.store import Store

# What a batch that waits has behind it: the work up to its latest checkpoint.
KEPT_WORK = sa.func.coalesce(
    sa.select(sa.func.max(checkpoints.c.done))
    .where(checkpoints.c.batch == batches.c.id)
    .scalar_subquery(),
    0.0,
)
# Statements are built once: building one costs more than running it. What is given by a column's
# name is set; the others are the conditions.
_c = batches.c
_HELD = (
    _c.id == sa.bindparam("of"),
    _c.attempt == sa.bindparam("held"),
    _c.status == RUNNING,
)
SET = sa.update(batches).where(*_HELD)
RELEASE = SET.values(status=WAITING, done=KEPT_WORK)
END = sa.insert(attempts).from_select(
    list(attempts.c),
    sa.select(
        *(_c.id, _c.attempt, _c.start, _c.owner, _c.began, _c.heard),
        sa.bindparam("outcome", type_=sa.Text),
        _c.error,
    ).where(_c.id == sa.bindparam("of")),
)
SPENT = (
    sa.update(batches)
    .where(_c.id == sa.bindparam("of"))
    .values(seconds=sa.func.coalesce(_c.seconds, 0.0) + _c.heard - _c.began)
)
FIRST = (
    sa.select(_c.id, _c.attempt)
    .where(_c.run == sa.bindparam("of"), _c.status == WAITING)
    .order_by(_c.number)
    .limit(1)
    .with_for_update(skip_locked=True)
)
TAKE = sa.update(batches).where(_c.id == sa.bindparam("of"))


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
            if not self._set(connection, SET, heard=time.time(), **values):
                raise Lost(f"batch {self.id}, attempt {self.attempt}, was given to another worker")
            yield connection

    def release(self) -> None:
        """Back to waiting, if it is still held and not done."""
        self._give_up(RELEASED, RELEASE)

    def fail(self, error: str) -> None:
        """Given up until the next start, with what went wrong."""
        text = error.encode(errors="backslashreplace").decode().replace("\0", "\\0")
        self._give_up(FAILED, SET, status=FAILED, error=text)

    def end(self, connection: sa.Connection, outcome: str) -> None:
        """Leave the row of this attempt; it ended with the last thing written for it."""
        connection.execute(END, {"of": self.id, "outcome": outcome})
        connection.execute(SPENT, {"of": self.id})

    def _give_up(self, outcome: str, statement: sa.Update, **values) -> None:
        with self.store.database.writing() as connection:
            if self._set(connection, statement, **values):
                self.end(connection, outcome)

    def _set(self, connection: sa.Connection, statement: sa.Update, **values) -> bool:
        condition = {"of": self.id, "held": self.attempt}
        return connection.execute(statement, condition | values).rowcount == 1


def claim(store: Store, owner: Owner, start: int) -> Claim | None:
    """The first batch that waits, now held by the owner; None where none waits."""
    with store.database.writing() as connection:
        row = connection.execute(FIRST, {"of": store.run}).first()
        if row is None:
            return None
        taken, now = Claim(store, row.id, row.attempt + 1), time.time()
        values = {"status": RUNNING, "attempt": taken.attempt, "owner": owner.text, "start": start}
        values |= {"began": now, "heard": now, "error": None}
        connection.execute(TAKE, {"of": row.id} | values)
    return taken


def claims(store: Store) -> list[tuple[Claim, Owner]]:
    """The batches that run, with their owners."""
    c = batches.c
    wanted = sa.select(c.id, c.attempt, c.owner).where(c.run == store.run, c.status == RUNNING)
    with store.database.reading() as connection:
        rows = connection.execute(wanted).all()
    return [(Claim(store, row.id, row.attempt), Owner.read(row.owner)) for row in rows]


def take_over(store: Store, patience: float = 10.0) -> int:
    """Free what dead owners hold and what failed; returns how many owners were dead.

    Hypothesis: the caller holds the lock of the location (`run_lock`), so that an owner on another
    machine is dead too. One that still lives here is a worker about to end with its run: it is
    given ``patience`` seconds.
    """
    freed, end = 0, time.monotonic() + patience
    while still := claims(store):
        for lapsed, owner in still:
            if not owner.alive() or owner == Owner.me():
                lapsed.release()
                freed += 1
            elif time.monotonic() > end:
                raise InputError(
                    store.location.description,
                    "no live worker in it",
                    owner,
                    "end it, then resume",
                )
        # A worker that ends with its run does so within milliseconds, and nothing announces it.
        time.sleep(0.02)
    retry(store)
    return freed


def retry(store: Store) -> int:
    """Let what failed wait again, with a live run or before the next; returns how many batches."""
    with store.database.writing() as connection:
        again = sa.update(batches).where(batches.c.run == store.run, batches.c.status == FAILED)
        return connection.execute(again.values(status=WAITING, done=KEPT_WORK)).rowcount

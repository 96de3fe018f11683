"""kill -9 in the middle of a write: each transaction is whole or absent, and the run goes on."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from itertools import count

from sqlalchemy import Engine, event

from dudley.core.errors import InputError
from dudley.lab.runners.run_lock import run_lock
from dudley.lab.store.conformance.backend import Backend
from dudley.lab.store.conformance.sample import assert_right, process, sample, work_off
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import attempts, sa
from dudley.lab.store.store import Store

BATCHES = 3
# (a statement, after how many of them): within its transaction, before it is committed.
QUICK = [("INSERT INTO checkpoints", 2)]
PLACES = [
    ("INSERT INTO runs", 1),  # while the store is made
    ("INSERT INTO trials", 1),
    ("UPDATE batches", 1),  # a claim
    ("INSERT INTO points", 4),  # after a checkpoint
    *QUICK,
    ("DELETE FROM checkpoints", 3),
    ("UPDATE trials", 1),  # the results
    ("INSERT INTO attempts", 1),  # the last write of a batch
    ("COMMIT", 9),
]


def killed_while_writing(backend: Backend, thorough: bool = False) -> None:
    """A worker is killed again and again; then the table is that of an unbroken run."""
    location = backend.location("killed")
    places = PLACES if thorough else QUICK
    for statement, number in places:
        child = process(_die, location, statement, number)
        child.join(120)
        assert child.exitcode == -signal.SIGKILL, f"{statement}: exit code {child.exitcode}"
        until_free(location)
    work_off(location, BATCHES)
    assert_right(location, sample(BATCHES)[0])
    store = Store.open(location)
    with store.database.reading() as connection:
        outcomes = connection.execute(sa.select(attempts.c.outcome)).scalars().all()
    store.close()
    assert outcomes.count("done") == BATCHES, f"attempts ended as {outcomes}"
    assert outcomes.count("released") >= 1, "no attempt was taken over"


def until_free(location: RunLocation) -> None:
    """A server notices in its own time that the process which held the location is gone."""
    end = time.monotonic() + 60
    while True:
        try:
            with run_lock(location):
                return
        except InputError:
            assert time.monotonic() < end, "the location of a process that was killed is still held"
            time.sleep(0.01)


def _die(location: RunLocation, statement: str, number: int) -> None:
    """Work, until the statement was sent so many times."""
    die = dying(number)
    if statement == "COMMIT":
        event.listen(Engine, "commit", lambda connection: die())
    else:
        after_each(statement, die)
    work_off(location, BATCHES)


def dying(number: int) -> Callable[[], None]:
    """A function that is SIGKILL for its process when it is called for the ``number``-th time."""
    seen = count(1)

    def die() -> None:
        if next(seen) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return die


def after_each(statement: str, act: Callable[[], None]) -> None:
    """Call it after each statement that matches, within its transaction."""

    def after(connection, cursor, sent, *rest) -> None:
        if re.match(statement, sent):
            act()

    event.listen(Engine, "after_cursor_execute", after)

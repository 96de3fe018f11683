"""Read while another process writes: every look is at one moment, and the writer does not wait."""

from __future__ import annotations

import time
from functools import partial
from multiprocessing import get_context
from multiprocessing.synchronize import Semaphore

from dudley.lab.runners.session import Session
from dudley.lab.store.conformance.backend import Backend
from dudley.lab.store.conformance.sample import (
    assert_right,
    prepare_store,
    process,
    sample,
    work,
    work_off,
)
from dudley.lab.store.schema import DONE, attempts, batches, points, sa, trials
from dudley.lab.store.store import Store
from dudley.lab.store.summary import summary
from dudley.lab.store.table import table

SIZE = 4


def read_while_writing(backend: Backend, thorough: bool = False) -> None:
    """Several queries in one look agree with each other, and later looks never show less.

    The writer, when it has come to a batch, waits for the next look to begin and writes the batch
    while that look lasts: whatever the speed of either, all but two batches' ends are looked at.
    """
    location, count = backend.location("observed"), 120 if thorough else 15
    prepare_store(location, count, SIZE).close()
    ready, turns = (get_context("spawn").Semaphore(0) for _ in range(2))
    writer = process(work_off, location, count, SIZE, partial(_in_turn, ready=ready, turns=turns))
    store, before, looks = Store.open(location), (0, 0), 0
    end = time.monotonic() + 240
    while before[0] < count:
        assert time.monotonic() < end and writer.exitcode in (None, 0), "the writer has failed"
        if ready.acquire(block=False):
            turns.release()
        now = _look(store)
        assert now >= before, f"{before}, then {now}"
        looks, before = looks + (0 < now[0] < count), now
        counts = summary(store)
        assert sum(counts.trials.values()) == count * SIZE
        assert counts.trials.get(DONE, 0) == SIZE * counts.batches.get(DONE, 0)
        rows = [row for row in table(location) if row["grid.status"] == DONE]
        assert all("result.state" in row for row in rows), "a cell is done and has no result"
    writer.join(60)
    store.close()
    assert writer.exitcode == 0
    assert looks >= count - 2, f"only {looks} looks fell into the run"
    assert_right(location, sample(count, SIZE)[0])


def _in_turn(session: Session, ready: Semaphore, turns: Semaphore) -> None:
    ready.release()
    assert turns.acquire(timeout=60), "nobody looks"
    work(session)


def _look(store: Store) -> tuple[int, int]:
    """Batches done and points, in one transaction of several statements with time between them."""
    count = sa.func.count()
    with store.database.reading() as connection:
        done = connection.execute(sa.select(count).where(batches.c.status == DONE)).scalar_one()
        time.sleep(0.01)
        query = sa.select(count).select_from(trials).where(trials.c.result.is_not(None))
        results = connection.execute(query).scalar_one()
        time.sleep(0.01)
        ended = connection.execute(sa.select(count).select_from(attempts)).scalar_one()
        many = connection.execute(sa.select(count).select_from(points)).scalar_one()
    assert results == SIZE * done, f"{results} results of {done} batches"
    assert ended == done, f"{ended} attempts ended of {done} batches done"
    return done, many

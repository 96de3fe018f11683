"""Many writers: four processes work off 10,000 cells, each a batch of its own."""

from __future__ import annotations

from collections import Counter
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier

from dudley.lab.runners.session import Session
from dudley.lab.runners.worker import work_batches
from dudley.lab.store.conformance.backend import Backend
from dudley.lab.store.conformance.sample import prepare_store, process, sample
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import attempts, batches, sa
from dudley.lab.store.store import Store
from dudley.lab.store.table import table


def many_writers(backend: Backend, thorough: bool = False) -> None:
    """No cell lost, none done twice, no error of a lock."""
    cells, writers = (10_000, 4) if thorough else (100, 2)
    location = backend.location("crowded")
    store = prepare_store(location, cells, size=1)
    starts = [store.begin("code", {})[0] for _ in range(writers)]
    together = get_context("spawn").Barrier(writers)
    working = [process(_serve, location, start, together) for start in starts]
    for worker in working:
        worker.join(600)
    assert [worker.exitcode for worker in working] == [0] * writers, "a writer failed"
    with store.database.reading() as connection:
        ended = connection.execute(sa.select(attempts.c.batch, attempts.c.outcome)).all()
        errors = connection.execute(sa.select(batches.c.error)).scalars().all()
        by = connection.execute(sa.select(attempts.c.start)).scalars().all()
    store.close()
    assert not any(errors), next(error for error in errors if error)
    assert len(ended) == cells and {row.outcome for row in ended} == {"done"}
    assert len({row.batch for row in ended}) == cells, "a cell was done twice"
    rows = [(row["result.key"], row["task.m"]) for row in table(location)]
    grid, _ = sample(cells, 1)
    assert rows == [(trial.key, trial.config["task"]["m"]) for trial in grid.trials]
    if thorough:  # among a hundred cells, one that waits for a lock may come too late for any
        assert set(by) == set(starts), f"cells by writer: {dict(Counter(by))}"


def _serve(location: RunLocation, start: int, together: Barrier) -> None:
    store = Store.open(location)
    together.wait(120)
    work_batches(store, _work, start, 0, lambda: False)
    store.close()


def _work(session: Session) -> None:
    session.append(1, {"key": [float(key) for key in session.batch.keys]})
    session.finish([{"key": key} for key in session.batch.keys])

"""What a run is asked by SQL: counts by status and by cell, speed, who works, errors."""

from __future__ import annotations

import pytest

import grid_toy as toy
from dudley.core.errors import InputError
from dudley.lab import Batch, BatchFailed, Cost, Session, Store, Trial, TrialGrid, run
from dudley.lab.store.claims import claim
from dudley.lab.store.location import RunLocation
from dudley.lab.store.owner import Owner
from dudley.lab.store.summary import cells, summary

GRID = toy.toy_grid()
BATCHES = toy.toy_batches(GRID)  # of m = 7, 5, 3: the longest first


def stopped(location: RunLocation) -> None:
    """Batch 0 done, batch 1 failed, batch 2 not begun."""

    def work(session: Session) -> None:
        if session.batch.number == 1:
            raise RuntimeError("a bad batch")
        if session.batch.number == 2:
            raise KeyboardInterrupt
        toy.logistic(session, pause=0.001)

    with pytest.raises(KeyboardInterrupt):
        run(GRID, BATCHES, work, location)


def test_a_run_is_counted(location: RunLocation):
    stopped(location)
    counts = summary(location)
    assert counts.batches == {"done": 1, "failed": 1, "waiting": 1}
    assert counts.trials == {"done": 4, "failed": 4, "waiting": 4}
    assert (counts.name, counts.work, counts.done) == ("toy", 60.0, 28.0)
    assert counts.running == ()
    ((failure),) = counts.failures
    assert (failure.batch, failure.attempt) == (1, 1) and "a bad batch" in failure.error
    assert counts.speed is not None and counts.seconds > 0
    assert 28.0 / counts.seconds <= counts.speed <= 28.0 / 0.024
    by_m = cells(location, ["task.m"])
    assert by_m == {(3,): {"waiting": 4}, (5,): {"failed": 4}, (7,): {"done": 4}}
    assert list(by_m) == [(3,), (5,), (7,)]  # as in the grid
    assert cells(location, ["task.m", "trial"])[(7, 3)] == {"done": 1}


def test_who_works_is_told(location: RunLocation):
    store = Store.prepare(location, GRID, BATCHES, resume=True)
    start, _ = store.begin("code", {})
    taken = claim(store, Owner.me(), start)
    assert taken is not None
    session = Session(taken)
    session.progress(7.0)
    ((running),) = summary(store).running
    assert (running.batch, running.attempt, running.owner, running.share) == (
        0,
        1,
        Owner.me(),
        0.25,
    )
    assert (
        running.began is not None and running.heard is not None and running.began <= running.heard
    )
    assert summary(store).speed is None and summary(store).done == 7.0
    store.close()


def test_a_batch_that_failed_and_was_done_shows_both(location: RunLocation):
    def fails(session: Session) -> None:
        raise RuntimeError("not today")

    with pytest.raises(BatchFailed):
        run(GRID, BATCHES, fails, location)
    run(GRID, BATCHES, toy.logistic, location)
    counts = summary(location)
    assert counts.batches == {"done": 3} and len(counts.failures) == 3


def test_cells_keep_the_types_of_their_values(location: RunLocation):
    values = [1, 1.5, "1", False, None, [1, 2], {"a": 1}, 'odd "name"']
    configs = [{"x.y": 0, "x": {"a {b}, $[0]": value}} for value in values] + [{"x": 1}]
    grid = TrialGrid([Trial(config, i) for i, config in enumerate(configs)], "g", 0)
    Store.prepare(location, grid, [Batch(0, grid.trials, Cost(1, 1.0))], True).close()
    by = cells(location, ["x.a {b}, $[0]"])
    assert by[(None,)] == {"waiting": 2}  # null, and absent
    labels = [cell[0] for cell in by]
    assert len(labels) == len(values)
    assert labels[:3] == [1, 1.5, "1"] and labels[3] is False and labels[4] is None
    assert [labels[5], labels[7]] == ["[1, 2]", 'odd "name"'] and labels[6] == '{"a": 1}'
    assert cells(location, ["nothing"]) == {(None,): {"waiting": len(configs)}}
    with pytest.raises(InputError, match="at least one"):
        cells(location, [])
    with pytest.raises(InputError, match="words joined by dots"):
        cells(location, ['a"b'])

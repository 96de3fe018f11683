"""The run that is checked: a chaotic map, so that a step lost or made twice shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np

from dudley.lab.grid.batch import Batch, Cost
from dudley.lab.grid.trial import Trial, TrialGrid
from dudley.lab.runners.run_lock import run_lock
from dudley.lab.runners.session import Session
from dudley.lab.runners.worker import Work, work_batches
from dudley.lab.store.checkpoints import sweep
from dudley.lab.store.claims import Claim, claim, take_over
from dudley.lab.store.location import RunLocation
from dudley.lab.store.owner import Owner
from dudley.lab.store.schema import WAITING
from dudley.lab.store.store import Store
from dudley.lab.store.table import TrialTable, curves, table

STEPS, EVALUATE, KEEP = 12, 2, 4


def sample(batches: int, size: int = 4) -> tuple[TrialGrid, tuple[Batch, ...]]:
    """A grid of batches of one size."""
    trials = [
        Trial({"task": {"m": m}, "trial": i}, key=1000 * m + i)
        for m in range(batches)
        for i in range(size)
    ]
    packed = (tuple(trials[m * size : (m + 1) * size]) for m in range(batches))
    grid = TrialGrid(trials, "sample", 0)
    return grid, tuple(Batch(m, one, Cost(1, 10.0)) for m, one in enumerate(packed))


def prepare_store(location: RunLocation, batches: int, size: int = 4) -> Store:
    grid, packed = sample(batches, size)
    return Store.prepare(location, grid, packed, resume=True)


def take_batch(store: Store) -> Claim:
    """The next batch, by this process."""
    start, _ = store.begin("code", {"device": "none"})
    claimed = claim(store, Owner.me(), start)
    assert claimed is not None, "a batch waits, and none was given"
    return claimed


def work(session: Session) -> None:
    """x ↦ 3.9 x (1 − x), with points, checkpoints and results."""
    checkpoint = session.latest()
    if checkpoint is None:
        first, state = 0, np.array([(key % 997 + 1) / 1000 for key in session.batch.keys])
    else:
        first, state = checkpoint[0], np.fromfile(checkpoint[1])
    for step in range(first + 1, STEPS + 1):
        state = 3.9 * state * (1 - state)
        if step % EVALUATE == 0:
            session.append(step, {"state": state})
        session.progress(session.batch.cost.work * step / STEPS)
        if step % KEEP == 0:
            session.checkpoint(step, partial(_save, state))
    session.finish([{"state": x} for x in state])


def _save(state: np.ndarray, path: Path) -> None:
    path.write_bytes(state.tobytes())


def expected(grid: TrialGrid) -> list[float]:
    """Results in the grid's order."""
    state = np.array([(trial.key % 997 + 1) / 1000 for trial in grid.trials])
    for _ in range(STEPS):
        state = 3.9 * state * (1 - state)
    return [float(x) for x in state]


def work_off(location: RunLocation, batches: int, size: int = 4, how: Work = work) -> None:
    """What a runner does: alone with the location, take over, and serve until none waits."""
    with run_lock(location):
        store = prepare_store(location, batches, size)
        take_over(store)
        sweep(store)
        start, _ = store.begin("code", {"device": "none"})
        # A server may still lock a row for a process that was killed: then nobody is given it yet.
        while any(one.status == WAITING for one in store.standing()):
            work_batches(store, how, start, 0, lambda: False)
        store.close()


def assert_right(location: RunLocation, grid: TrialGrid) -> TrialTable:
    """Every cell once, with the result of an unbroken run, and its whole curve."""
    rows = table(location)
    states = [row.get("result.state") for row in rows]
    assert states == expected(grid), "results differ from those of an unbroken run"
    assert set(rows["grid.status"]) == {"done"}
    steps = list(range(EVALUATE, STEPS + 1, EVALUATE))
    for x, (at, values) in zip(states, curves(location, "state"), strict=True):
        assert list(at) == steps, f"points at {list(at)}, expected {steps}"
        assert values[-1] == np.float32(x)
    return rows


def process(target: Callable[..., None], *args) -> BaseProcess:
    """A fresh interpreter at work."""
    made = get_context("spawn").Process(target=target, args=args)
    made.start()
    return made

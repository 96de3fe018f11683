"""A deterministic toy for the grid's tests: a chaotic map, so that a lost or doubled step shows.

As a program it runs the toy in a folder, and kills itself where it is told to:
``python grid_toy.py FOLDER [--on RUNNER] [--workers N] [--pause SECONDS] [--marks FOLDER]
[--gates FOLDER] [--kill PLACE NUMBER]``.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dudley.lab import Batch, Cost, Session, Store, Trial, TrialGrid, plan, run
from dudley.lab.store import checkpoints
from dudley.lab.store.claims import Claim, claim
from dudley.lab.store.conformance.killed import after_each, dying
from dudley.lab.store.owner import Owner

STEPS, EVALUATE, KEEP = 24, 2, 6


def toy_grid(seed: int = 0) -> TrialGrid:
    trials = [
        Trial({"task": {"m": m}, "trial": i}, key=1000 * m + i) for m in (3, 5, 7) for i in range(4)
    ]
    return TrialGrid(trials, "toy", seed)


def toy_batches(grid: TrialGrid) -> tuple[Batch, ...]:
    """Three batches of four."""
    return plan(
        grid.trials,
        group=lambda trial: trial.config["task"]["m"],
        cost=lambda trial: Cost(10, float(trial.config["task"]["m"])),
        limit_bytes=40,
    )


def taken(store: Store) -> Claim:
    """The next batch of a store, for a start of its own."""
    start, _ = store.begin("code", {})
    claimed = claim(store, Owner.me(), start)
    assert claimed is not None
    return claimed


def logistic(
    session: Session, pause: float = 0.0, marks: Path | None = None, gates: Path | None = None
) -> None:
    """STEPS steps of x ↦ 3.9 x (1 − x) for every trial, from its key; none beyond its gate."""
    if marks is not None:
        (marks / f"{session.batch.number}.{os.getpid()}").touch()
    latest = session.latest()
    if latest is None:
        first, state = 0, np.array([(key % 997 + 1) / 1000 for key in session.batch.keys])
        session.append(0, {"state": state, "step": np.zeros(len(state))})
    else:
        first = latest[0]
        with latest[1].open("rb") as file:
            state = np.load(file)
    for step in range(first + 1, STEPS + 1):
        if gates is not None and not let_through(session, gates, step):
            return
        time.sleep(pause)
        state = 3.9 * state * (1 - state)
        if step % EVALUATE == 0:
            session.append(step, {"state": state, "step": np.full(len(state), step)})
        session.progress(session.batch.cost.work * step / STEPS)
        if step % KEEP == 0:
            session.checkpoint(step, partial(save, state=state))
            if session.should_stop():
                return
    session.finish([{"state": x, "high": x > 0.5} for x in state])


def hold(gates: Path, steps: int, numbers: Sequence[int] = (0, 1, 2)) -> Path:
    """From here on these batches make so many steps, and wait for more; others make all."""
    gates.mkdir(exist_ok=True)
    for number in numbers:
        part = gates / f"{number}.part"
        part.write_text(str(steps))
        part.replace(gates / str(number))
    return gates


def let_through(session: Session, gates: Path, step: int) -> bool:
    """Wait until the step may be made; False where somebody asks for a stop first."""
    gate, end = gates / str(session.batch.number), time.monotonic() + 300
    while gate.exists() and step > int(gate.read_text()):
        if session.should_stop():
            return False
        if time.monotonic() > end:
            raise TimeoutError(f"nobody lets step {step} through")
        time.sleep(0.02)
    return True


def save(path: Path, state: np.ndarray) -> None:
    with path.open("wb") as file:
        np.save(file, state)


def dies(session: Session, marks: Path, times: int) -> None:
    """As `logistic`, but batch 1 ends its process at half its steps, some times."""
    deaths = len(list(marks.glob("death*")))
    if session.batch.number == 1 and deaths < times:
        (marks / f"death{deaths}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    logistic(session)


def fails_at(session: Session, number: int, work: Callable[[Session], None]) -> None:
    """As ``work``, but one batch fails."""
    if session.batch.number == number:
        raise RuntimeError("not today")
    work(session)


def warned(session: Session, marks: Path) -> None:
    """As `logistic`, but batch 0 is warned, once, as Slurm warns before it ends a job."""
    if session.batch.number == 0:
        first = not list(marks.glob("warned.*"))
        (marks / f"warned.{os.getpid()}").touch()
        if first:
            os.kill(os.getpid(), signal.SIGUSR2)
    logistic(session)


def meets(session: Session, marks: Path) -> None:
    """Batches 0 and 1 each wait for the other to begin: one worker alone cannot pass."""
    (marks / f"{session.batch.number}.{os.environ['OMP_NUM_THREADS']}").touch()
    end = time.monotonic() + 120
    while session.batch.number < 2 and not all(list(marks.glob(f"{i}.1")) for i in (0, 1)):
        if time.monotonic() > end:
            raise TimeoutError("the other batch does not begin, or not with one thread")
        time.sleep(0.01)
    logistic(session)


def die_at(location: str, number: int) -> None:
    """Arrange for SIGKILL at the ``number``-th time at a place: in a file, or in a statement."""
    die = dying(number)
    if location == "file":  # half a checkpoint

        def half(path: Path, state: np.ndarray) -> None:
            path.write_bytes(b"\x93NUMPY")
            path.with_name(".beside").write_bytes(b"more")  # as libraries do that write at once
            die()
            save(path, state)

        globals()["save"] = half  # logistic looks it up
    elif location == "removal":  # a batch is done, its files still stand
        checkpoints.remove = lambda claim: die()
    else:
        after_each(location, die)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--on", default="local")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--marks", type=Path)
    parser.add_argument("--gates", type=Path)
    parser.add_argument("--kill", nargs=2, metavar=("PLACE", "NUMBER"))
    options = parser.parse_args()
    if options.kill:
        die_at(options.kill[0], int(options.kill[1]))
    grid = toy_grid()
    work = partial(logistic, pause=options.pause, marks=options.marks, gates=options.gates)
    try:
        run(grid, toy_batches(grid), work, options.folder, on=options.on, workers=options.workers)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

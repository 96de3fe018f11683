"""What runner and store cost beside the bare engine, in one run, batch by batch.

    OMP_NUM_THREADS=1 python benchmarks/grid/overhead.py --out results/grid

Every batch is trained twice in the same process, one after the other: by the bare trainer, which
keeps its metrics in memory, and as a run does it, with its session (points, progress, checkpoints,
results); which of the two comes first alternates. Two numbers follow, in seconds of the processor
and of the clock. The *difference* of the two trainings, with all that the run does besides,

    (whole − 2 · bare) / bare,

has the noise of a training in it. What is *spent* in the calls of the session and outside the work
(claims, the store's other work, on Ray all that the driver does) is timed by itself:

    (within the session's calls + outside the work) / bare.

Ray stands before the run begins, and what comes before the first batch, such as the start of its
worker, is told apart on the clock. Beside it, a run whose work is nothing but its writes.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

from dudley.core.provenance import provenance  # noqa: E402
from dudley.lab import Batch, Cost, Session, Trial, TrialGrid, run, table  # noqa: E402
from dudley.lab.conduct import digests_of  # noqa: E402
from dudley.lab.training import pack, train_batch, trainings  # noqa: E402
from dudley.train.problem import Problem  # noqa: E402
from dudley.train.trainer import Memory, Pace, Trainer  # noqa: E402

SEED, TRIALS, LARGEST = 0, 24, 12
# E1's protocol at T = 100, with fewer steps, points at every evaluation as in the laboratory, and
# a checkpoint every other second, thirty times as often as by default.
CONFIG = {
    "task": {"name": "and", "T": 100, "s": 3, "m": [50, 80, 110, 140], "holdout": 2000},
    "model": {"name": "and-classifier"},
    "training": {"optimiser": {"name": "adam"}, "steps": 60, "evaluate_every": 10},
}
PACE = Pace(append=1.0, checkpoint=2.0)
CELLS = 10_000


class Timed:
    """A session that notes what its calls take."""

    def __init__(self, session: Session):
        self._session, self.batch = session, session.batch
        self.cpu = self.wall = 0.0

    def __getattr__(self, name: str) -> Any:
        return partial(self._timed, getattr(self._session, name))

    def _timed(self, call: Any, *arguments: Any) -> Any:
        clock, processor = time.perf_counter(), time.process_time()
        try:
            return call(*arguments)
        finally:
            self.wall += time.perf_counter() - clock
            self.cpu += time.process_time() - processor


def both(session: Session, notes: Path) -> None:
    """Train a batch by the bare engine and by the run; note what each took."""
    taken = {"begun": time.time()}

    def bare() -> None:
        clock, processor = time.perf_counter(), time.process_time()
        problem = Problem([trial.config for trial in session.batch.trials])
        Trainer(problem, Memory(), PACE, session.batch.cost.work).run()
        taken["wall"] = time.perf_counter() - clock
        taken["cpu"] = time.process_time() - processor

    timed: Any = Timed(session)
    in_grid = partial(train_batch, timed, pace=PACE)
    first, second = (bare, in_grid) if session.batch.number % 2 else (in_grid, bare)
    begun, spent = time.perf_counter(), time.process_time()
    first()
    second()
    taken["whole_wall"] = time.perf_counter() - begun
    taken["whole_cpu"] = time.process_time() - spent
    taken |= {"calls_cpu": timed.cpu, "calls_wall": timed.wall}
    (notes / f"{session.batch.number}.json").write_text(json.dumps(taken))


def idle(session: Session) -> None:
    """No work: one point and the results."""
    value = np.array(session.batch.keys, dtype=float)
    session.append(1, {"value": value})
    session.finish([{"value": x} for x in value])


def on_ray() -> dict[str, Any]:
    """As `compared`, on a cluster of this machine."""
    import ray

    clock = time.time()
    ray.init("local", log_to_driver=False, logging_level=logging.ERROR)
    took = time.time() - clock
    try:
        return compared(f"ray?cpus={os.cpu_count()}") | {"seconds_to_start_ray": took}
    finally:
        ray.shutdown()


def compared(on: str) -> dict[str, Any]:
    """The run on a runner, one batch at a time, against the bare trainings within it."""
    grid = trainings("overhead", SEED, CONFIG, TRIALS)
    batches = pack(grid, 2 << 30, largest=LARGEST)
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder)
        clock, processor = time.time(), time.process_time()
        run(grid, batches, partial(both, notes=notes), notes / "run", on=on)
        wall, cpu = time.time() - clock, time.process_time() - processor
        records = [json.loads(path.read_text()) for path in notes.glob("*.json")]
        assert len(records) == len(batches)
        assert set(table(notes / "run")["grid.status"]) == {"done"}
    before = min(one.pop("begun") for one in records) - clock
    sums = {name: sum(one[name] for one in records) for name in records[0]}
    # Here the process is the worker's; elsewhere the driver's own seconds come to the worker's.
    all_cpu, all_wall = cpu if on == "local" else cpu + sums["whole_cpu"], wall - before
    beside_cpu = sums["calls_cpu"] + all_cpu - sums["whole_cpu"]
    beside_wall = sums["calls_wall"] + all_wall - sums["whole_wall"]
    return {
        "on": on,
        "cells": len(grid),
        "batches": len(batches),
        "seconds_before_the_first_batch": before,
        "bare": {"cpu_seconds": sums["cpu"], "wall_seconds": sums["wall"]},
        "run": {"cpu_seconds": all_cpu - sums["cpu"], "wall_seconds": all_wall - sums["wall"]},
        "difference": {
            "cpu_overhead": all_cpu / sums["cpu"] - 2,
            "wall_overhead": all_wall / sums["wall"] - 2,
        },
        "spent": {
            "cpu_seconds_in_calls": sums["calls_cpu"],
            "cpu_seconds_outside_work": all_cpu - sums["whole_cpu"],
            "cpu_overhead": beside_cpu / sums["cpu"],
            "wall_overhead": beside_wall / sums["wall"],
            "cpu_microseconds_per_cell": 1e6 * beside_cpu / len(grid),
        },
    }


def empty() -> dict[str, Any]:
    """A run that only writes: what a cell costs where nothing is computed."""
    trials = [Trial({"trial": i}, key=i) for i in range(CELLS)]
    grid = TrialGrid(trials, "idle", SEED)
    costs = {}
    for size in (1, 50):
        cut = range(0, CELLS, size)
        batches = [
            Batch(n, grid.trials[i : i + size], Cost(1, float(size))) for n, i in enumerate(cut)
        ]
        with tempfile.TemporaryDirectory() as folder:
            processor = time.process_time()
            run(grid, batches, idle, folder)
            spent = time.process_time() - processor
        costs[f"batches_of_{size}"] = {"cpu_microseconds_per_cell": 1e6 * spent / CELLS}
    return costs


def machine() -> dict[str, Any]:
    versions = {name: metadata.version(name) for name in ("numpy", "torch", "sqlalchemy", "ray")}
    return {"cores": os.cpu_count(), "python": platform.python_version(), **versions}


def write(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record: Mapping[str, Any] = {
        "runs": [compared("local"), on_ray()],
        "no_work": empty(),
        "limit": 0.05,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "overhead.json"
    write(path, {"schema": "dudley.overhead/1", **record})
    config = {"protocol": CONFIG, "trials": TRIALS, "largest_batch": LARGEST, "seed": SEED}
    document = (
        provenance() | digests_of(config, [path]) | {"machine": machine(), "precision": "float32"}
    )
    write(options.out / "provenance.json", document)
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()

"""Opening and summarising a store of 10,000 cells, as a ratio to reading its Parquet export.

The worst case for the store: every cell is a batch of its own, and all are done. Summarising is the
counts by status, work, speed, who works and the errors (`summary`); the counts by two names of the
config (`cells`), for which every config is parsed, are told beside it. Reading is the table of
trials alone, whole, by pyarrow on one thread. Wall-clock time, the smallest of several in one run,
on SQLite in a folder and on a PostgreSQL server of the machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import postgres_server
from dudley.lab import Batch, Cost, Session, Store, Trial, TrialGrid
from dudley.lab.runners.worker import work_batches
from dudley.lab.store.export import export
from dudley.lab.store.location import RunLocation
from dudley.lab.store.summary import cells, summary

CELLS, ALLOWED = 10_000, 10.0


def grid() -> TrialGrid:
    """A config as the laboratory's."""
    model = {"name": "and-classifier", "d": 64, "H": 4}
    how = {"optimiser": {"name": "adam", "lr": 1e-3}, "steps": 1000, "batch": None}
    configs = [
        {
            "task": {"name": "and", "T": 100 * (1 + i // 2500), "m": 10 * (i // 50 % 50), "s": 3},
            "model": model,
            "training": how,
            "trial": i % 50,
            "seed": 0,
        }
        for i in range(CELLS)
    ]
    return TrialGrid([Trial(one, key=i) for i, one in enumerate(configs)], "and", 0)


def work(session: Session) -> None:
    results = [{"success": key % 3 == 0, "loss": 1 / (1 + key)} for key in session.batch.keys]
    session.finish([one | {"steps": 1000, "accuracy": 0.9} for one in results])


@pytest.fixture(params=["folder", "postgres"])
def location(request, tmp_path: Path) -> Iterator[RunLocation]:
    if request.param == "folder":
        yield RunLocation.of(tmp_path / "run")
        return
    if (why := postgres_server.absent()) is not None:
        pytest.skip(f"postgres: {why}")
    with postgres_server.running() as server, server.database() as url:
        yield RunLocation.of(f"{url}#run")


def smallest(work: Callable[[], object], times: int) -> float:
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        durations.append(time.perf_counter() - start)
    return min(durations)


def test_a_summary_costs_little_more_than_reading_the_export(location: RunLocation, tmp_path: Path):
    whole = grid()
    batches = [Batch(i, (trial,), Cost(1, 1.0)) for i, trial in enumerate(whole.trials)]
    store = Store.prepare(location, whole, batches, resume=True)
    start, _ = store.begin("code", {"device": "cpu"})
    begun = time.process_time()
    work_batches(store, work, start, 0, lambda: False)
    each = (time.process_time() - begun) / CELLS
    store.close()
    file, _ = export(location, tmp_path)

    def summarise() -> None:
        assert summary(location).trials == {"done": CELLS}

    def asked_by_axis() -> None:
        assert len(cells(location, ["task.T", "task.m"])) == CELLS // 50

    read = smallest(lambda: pyarrow.parquet.read_table(file, use_threads=False), 20)
    durations = {"summary": smallest(summarise, 10), "cells": smallest(asked_by_axis, 10)}
    print(f"\n{location}: {1e6 * each:.0f} µs of this process a cell; read in {1e3 * read:.1f} ms")
    for what, took in durations.items():
        print(f"  open and {what}: {1e3 * took:.1f} ms, {took / read:.1f} times")
    assert durations["summary"] <= ALLOWED * read

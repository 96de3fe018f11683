"""Runners by name, what they refuse, and what becomes of the batches of lost workers."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

import grid_toy as toy
from dudley.core.errors import DudleyError, InputError, UnknownName
from dudley.core.extras import ExtraMissing
from dudley.lab import Session, Store, run
from dudley.lab.runners import ray_runner
from dudley.lab.runners.ray_runner import OnRay
from dudley.lab.runners.retry_limit import DEATHS, RetryLimit
from dudley.lab.runners.runner import runner_of
from dudley.lab.runners.slurm import OnSlurm
from dudley.lab.store.location import RunLocation

GRID = toy.toy_grid()
BATCHES = toy.toy_batches(GRID)


def test_a_runner_is_found_by_name_with_its_settings():
    assert runner_of("ray?address=local&gpus=0.5") == OnRay("local", gpus=0.5)
    assert runner_of("ray://head:10001?cpus=2") == OnRay("ray://head:10001", cpus=2.0)
    assert runner_of("slurm?partition=gpu&minutes=90&gpus=1") == OnSlurm(
        partition="gpu", minutes=90, gpus=1
    )
    requested = OnRay(gpus=0.25)
    assert runner_of(requested) is requested


@pytest.mark.parametrize(
    ("on", "kind", "message"),
    [
        ("rey", UnknownName, "unknown runner 'rey'; did you mean ray"),
        ("ray?gpu=1", UnknownName, "unknown setting of the runner ray 'gpu'; did you mean gpus"),
        ("ray?gpus=half", InputError, "setting gpus of the runner ray: expected a value of type"),
        ("ray?gpus=-1", InputError, "gpus of a batch: expected a finite number ≥ 0, got -1"),
        ("ray?cpus=nan", InputError, "cpus of a batch: expected a finite number ≥ 0, got nan"),
        ("slurm?minutes=0", InputError, "minutes of a job: expected a number > 0, got 0"),
        ("local?workers=2", UnknownName, "unknown setting of the runner local 'workers'"),
    ],
)
def test_what_is_no_runner_is_refused_and_nothing_is_written(tmp_path, on, kind, message):
    with pytest.raises(kind, match=message):
        run(GRID, BATCHES, toy.logistic, tmp_path / "run", on=on)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("module", "on"), [("ray", "ray"), ("submitit", "slurm?cluster=local")])
def test_without_its_library_a_runner_names_the_extra(tmp_path, monkeypatch, module, on):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ExtraMissing, match=rf"needs {module}.*pip install '\.\["):
        run(GRID, BATCHES, toy.logistic, tmp_path / "run", on=on)
    assert not (tmp_path / "run").exists()


def test_slurm_needs_a_store_that_several_machines_may_write_to(tmp_path: Path, require):
    require("submitit", find_spec("submitit") is not None, "pip install '.[slurm]'")
    with pytest.raises(InputError, match=r"expected a database, postgresql://.*SQLite must not"):
        run(GRID, BATCHES, toy.logistic, tmp_path / "run", on="slurm")
    assert not (tmp_path / "run").exists()


@pytest.fixture
def store(tmp_path: Path):
    store = Store.prepare(RunLocation.of(tmp_path), GRID, BATCHES, resume=True)
    yield store
    store.close()


def test_a_batch_that_gets_no_further_is_given_up(store: Store):
    limit = RetryLimit()
    for left in reversed(range(DEATHS)):
        session = toy.taken(store)
        limit.died(session, "its worker died")
        assert store.standing()[0].status == ("waiting" if left else "failed")
    assert store.standing()[0].error == "its worker died, 3 times"


def test_a_batch_that_gets_further_each_time_goes_on(store: Store):
    limit = RetryLimit()
    for step in range(1, 2 * DEATHS):
        session = Session(toy.taken(store))
        session.progress(float(step))
        session.checkpoint(step, lambda path: path.write_text("state"))
        limit.died(session.claim, "its worker died")
        assert store.standing()[0].status == "waiting"
    assert store.standing()[0].done == 2 * DEATHS - 1


def test_workers_that_die_outside_a_batch_are_an_error():
    limit = RetryLimit()
    for _ in range(DEATHS - 1):
        limit.died_without_batch("exit code 1")
    with pytest.raises(DudleyError, match="3 workers died outside a batch, the last: exit code 1"):
        limit.died_without_batch("exit code 1")


@pytest.mark.parametrize(
    ("deaths", "error", "attempts"),
    [
        (2, ConnectionAbortedError, 3),
        (3, ConnectionAbortedError, 3),
        (1, ConnectionError, 1),  # nobody is there
    ],
)
def test_a_client_whose_server_died_at_its_start_asks_again(deaths, error, attempts):
    calls = []

    def init(address, **settings):
        calls.append(address)
        if len(calls) <= deaths:
            raise error("Initialization failure:\n  File\nRuntimeError: it did not start\n")

    cluster = SimpleNamespace(init=init)
    if deaths < attempts:
        ray_runner._connect(cluster, "ray://head:1")
    else:
        message = "one at ray://head:1, got RuntimeError: it did not start; start one"
        with pytest.raises(InputError, match=message):
            ray_runner._connect(cluster, "ray://head:1")
    assert calls == ["ray://head:1"] * attempts

"""Ray's runner on one node: the local table, kept failures, replaced workers, an asked-for stop."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import grid_toy as toy
from dudley.core.errors import InputError
from dudley.lab import BatchFailed, Store, TrialTable, curves, run
from dudley.lab.runners.launch import ONE_THREAD
from dudley.lab.runners.ray_runner import OnRay, _Tasks
from dudley.lab.runners.remote import MailboxReply
from dudley.lab.runners.runner import Order
from dudley.lab.store.location import RunLocation
from live import until

pytestmark = pytest.mark.slow  # a cluster takes seconds to start
GRID = toy.toy_grid()
BATCHES = toy.toy_batches(GRID)
PATHS = os.pathsep.join([str(Path(toy.__file__).parent), os.environ.get("PYTHONPATH", "")])


@pytest.fixture(scope="module", autouse=True)
def _cluster(require) -> Iterator[None]:
    require("ray", importlib.util.find_spec("ray") is not None, "pip install '.[ray]'")
    import ray

    ray.init(
        "local",
        num_cpus=2,
        num_gpus=1,  # a word of Ray's: nothing looks for a true one
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100_000_000,
        runtime_env={"env_vars": {"PYTHONPATH": PATHS}},
    )
    yield
    ray.shutdown()


def go(
    folder: Path | RunLocation, work=toy.logistic, on: str | OnRay = "ray", **options
) -> TrialTable:
    return run(GRID, BATCHES, work, folder, on=on, **options)


@pytest.fixture(scope="module")
def local(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("local")
    run(GRID, BATCHES, toy.logistic, folder)
    return folder


def assert_same(folder: Path | RunLocation, results: TrialTable, local: Path) -> None:
    assert results == run(GRID, BATCHES, toy.logistic, local)
    for first, other in zip(curves(folder, "state"), curves(local, "state"), strict=True):
        np.testing.assert_array_equal(first, other)


def test_two_tasks_at_once_share_a_gpu_with_one_thread_each(tmp_path: Path, local: Path):
    marks = tmp_path / "marks"
    marks.mkdir()
    work, halves = partial(toy.meets, marks=marks), OnRay(gpus=0.5)
    results = go(tmp_path / "run", work, halves, workers=2)
    assert_same(tmp_path / "run", results, local)


def test_a_worker_that_dies_is_replaced_and_a_failure_keeps_its_traceback(tmp_path, local):
    work = partial(toy.dies, marks=tmp_path, times=1)
    with pytest.raises(BatchFailed, match=r"1 of 3 batches failed, first batch 2: .*not today"):
        go(tmp_path / "run", partial(toy.fails_at, number=2, work=work), workers=2)
    assert (tmp_path / "death0").exists()
    standing = Store.open(tmp_path / "run").standing()
    assert [one.status for one in standing] == ["done", "done", "failed"]
    assert "Traceback" in (standing[2].error or "") and "fails_at" in (standing[2].error or "")
    assert_same(tmp_path / "run", go(tmp_path / "run"), local)


def test_a_batch_that_kills_its_workers_is_given_up(tmp_path: Path):
    with pytest.raises(BatchFailed, match=r"first batch 1: its worker was lost .*, 3 times"):
        go(tmp_path / "run", partial(toy.dies, marks=tmp_path, times=3))


class Flag:
    value = 0


def test_asked_to_stop_it_stops_at_a_checkpoint_and_goes_on_later(
    tmp_path, local, location: RunLocation
):
    store = Store.prepare(location, GRID, BATCHES, resume=True)
    start, _ = store.begin("code", {})
    marks, stop = tmp_path / "marks", Flag()
    marks.mkdir()

    def ask() -> None:
        while len(list(marks.iterdir())) < 2:
            time.sleep(0.02)
        stop.value = 1

    threading.Thread(target=ask, daemon=True).start()
    gates = toy.hold(tmp_path / "gates", toy.KEEP)  # where they wait for it
    work = partial(toy.logistic, marks=marks, gates=gates)
    OnRay().work_off(Order(store, work, start, 2, stop, lambda: None, ONE_THREAD))
    standing = store.standing()
    assert {one.status for one in standing} == {"waiting"}
    assert sum(0 < one.done < one.work for one in standing) == 2
    store.close()
    assert_same(location, go(location), local)


def test_work_that_cannot_travel_is_refused(tmp_path: Path):
    lock = threading.Lock()
    with pytest.raises(InputError, match="work of a run: expected what can be pickled"):
        go(tmp_path / "run", lambda session: lock.acquire())


def test_what_no_batch_under_way_sent_is_refused():
    """A worker that was given up for lost, but was only cut off."""
    late = (7, (1, 1), [("finish", ([{}],))])
    tasks = object.__new__(_Tasks)
    tasks.order, tasks.tasks, tasks.replies = SimpleNamespace(stop=Flag()), {}, {}
    tasks.ray = SimpleNamespace(get=lambda messages: messages)
    exchange = SimpleNamespace(remote=lambda answers, patience: [late])
    tasks.mailbox = SimpleNamespace(exchange=exchange)
    tasks._exchange(0.0)
    reason = "Lost: batch 1, attempt 1, was given to another worker"
    assert tasks.replies == {7: MailboxReply(stop=True, refused=reason)}


def test_an_interrupt_reaches_the_work_and_nothing_else(tmp_path: Path, local: Path):
    marks = tmp_path / "marks"
    marks.mkdir()
    command = [sys.executable, toy.__file__, str(tmp_path / "run"), "--on", "ray?address=local"]
    gates = toy.hold(tmp_path / "gates", toy.KEEP)  # where they wait for the interrupt
    command += ["--workers", "2", "--marks", str(marks), "--gates", str(gates)]
    environment = os.environ | {"PYTHONPATH": PATHS}
    driver = subprocess.Popen(
        command, start_new_session=True, stderr=subprocess.PIPE, env=environment
    )
    until(lambda: len(list(marks.iterdir())) == 2, driver)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does
    errors = driver.communicate(timeout=180)[1].decode()
    assert driver.returncode == 130, errors
    assert "stopping at the next checkpoint" in errors and "Traceback" not in errors
    standing = Store.open(tmp_path / "run").standing()
    assert {one.status for one in standing} == {"waiting"}
    assert sum(0 < one.done < one.work for one in standing) == 2
    assert_same(tmp_path / "run", go(tmp_path / "run"), local)

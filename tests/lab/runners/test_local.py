"""The local runner: whatever ends it, the same call goes on and ends with the same table."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import grid_toy as toy
from dudley.core.errors import InputError
from dudley.lab import BatchFailed, Session, Store, Trial, TrialGrid, TrialTable, curves, run, table
from dudley.lab.store.claims import claim
from dudley.lab.store.owner import Owner
from live import lives, until

GRID = toy.toy_grid()
BATCHES = toy.toy_batches(GRID)


def go(folder: Path, work=toy.logistic, **options) -> TrialTable:
    return run(GRID, BATCHES, work, folder, **options)


def begin(folder: Path, *options: str) -> subprocess.Popen:
    """The toy in a process of its own, and of its own process group."""
    command = [sys.executable, toy.__file__, str(folder), *options]
    return subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken")
    go(folder)
    return folder


def assert_same(folder: Path, unbroken: Path) -> None:
    assert table(folder) == table(unbroken)
    for metric in ("state", "step"):
        pairs = zip(curves(folder, metric), curves(unbroken, metric), strict=True)
        for (steps, values), (true_steps, true_values) in pairs:
            np.testing.assert_array_equal(steps, true_steps)
            np.testing.assert_array_equal(values, true_values)
    assert list((folder / "checkpoints").iterdir()) == []


def test_the_unbroken_run_is_right(unbroken: Path):
    results = table(unbroken)
    assert [row["task.m"] for row in results] == [t.config["task"]["m"] for t in GRID.trials]
    assert set(results["grid.status"]) == {"done"}
    state = np.array([(t.key % 997 + 1) / 1000 for t in GRID.trials])
    for step in range(toy.STEPS + 1):
        if step:
            state = 3.9 * state * (1 - state)
        if step % toy.EVALUATE == 0:
            for x, (steps, values) in zip(state, curves(unbroken, "state"), strict=True):
                assert values[list(steps).index(step)] == np.float32(x)
    np.testing.assert_array_equal(results["result.state"], state)
    np.testing.assert_array_equal(results["result.high"], state > 0.5)


KILLS = [
    ("INSERT INTO runs", 1),  # while the store is made
    ("INSERT INTO points", 1),
    ("INSERT INTO points", 6),  # after the first checkpoint
    ("file", 1),
    ("file", 2),
    ("INSERT INTO checkpoints", 1),
    ("INSERT INTO checkpoints", 2),
    ("UPDATE trials", 1),
    ("removal", 1),
    ("UPDATE batches", 3),
]
FEW = [("file", 2), ("INSERT INTO checkpoints", 2), ("removal", 1)]


@pytest.mark.parametrize(
    "kills", [pytest.param(FEW, id="few"), pytest.param(KILLS, id="many", marks=pytest.mark.slow)]
)
def test_killed_again_and_again_it_ends_with_the_same_table(tmp_path, unbroken: Path, kills):
    for location, number in kills:
        process = begin(tmp_path, "--kill", location, str(number))
        assert process.wait(60) == -signal.SIGKILL, (location, number, process.communicate())
    assert "done" in (statuses := {row["grid.status"] for row in table(tmp_path)})
    assert statuses != {"done"}, "the kills left nothing to resume"
    go(tmp_path)
    assert_same(tmp_path, unbroken)


def more_than(count: int, folder: Path) -> bool:
    return len(list(folder.iterdir())) > count


@pytest.mark.parametrize(
    ("workers", "times"),
    [(2, 1), *(pytest.param(workers, 3, marks=pytest.mark.slow) for workers in (1, 2))],
)
def test_killed_at_random_moments_it_ends_with_the_same_table(
    tmp_path: Path, unbroken: Path, workers: int, times: int
):
    folder, marks = tmp_path / "run", tmp_path / "marks"
    marks.mkdir()
    gates = toy.hold(tmp_path / "gates", toy.STEPS - 1, [2])  # however late it is killed, not done
    draw = random.Random(workers)
    for _ in range(times):
        options = ("--workers", str(workers), "--pause", "0.02", "--marks", str(marks))
        options += ("--gates", str(gates))
        process, before = begin(folder, *options), len(list(marks.iterdir()))
        until(partial(more_than, before, marks))
        time.sleep(draw.uniform(0.0, 0.4))
        process.kill()
        assert process.wait(60) == -signal.SIGKILL, process.communicate()
    go(folder)
    assert_same(folder, unbroken)


def test_two_workers_work_at_once_with_one_thread_each(tmp_path, unbroken, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    marks = tmp_path / "marks"
    marks.mkdir()
    go(tmp_path / "run", partial(toy.meets, marks=marks), workers=2)
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert_same(tmp_path / "run", unbroken)


def test_a_worker_that_dies_is_replaced(tmp_path: Path, unbroken: Path):
    go(tmp_path / "run", partial(toy.dies, marks=tmp_path, times=1), workers=2)
    assert_same(tmp_path / "run", unbroken)


def test_a_batch_that_kills_its_workers_is_given_up_and_tried_again(tmp_path, unbroken):
    work = partial(toy.dies, marks=tmp_path, times=3)
    with pytest.raises(BatchFailed, match=r"1 of 3 batches failed.*batch 1: its worker died"):
        go(tmp_path / "run", work, workers=2)
    assert [one.status for one in Store.open(tmp_path / "run").standing()] == [
        "done",
        "failed",
        "done",
    ]
    go(tmp_path / "run", work)
    assert_same(tmp_path / "run", unbroken)


def test_workers_end_with_their_parent(tmp_path: Path):
    marks = tmp_path / "marks"
    marks.mkdir()
    process = begin(tmp_path / "run", "--workers", "2", "--pause", "1", "--marks", str(marks))
    until(lambda: len(list(marks.iterdir())) == 2)
    children = [int(path.name.split(".")[1]) for path in marks.iterdir()]
    process.kill()
    process.wait(60)
    until(lambda: not any(lives(pid) for pid in children))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_stops_at_a_checkpoint_and_a_live_run_is_left_alone(
    tmp_path: Path, unbroken: Path, workers: int
):
    folder, marks = tmp_path / "run", tmp_path / "marks"
    marks.mkdir()
    gates = toy.hold(tmp_path / "gates", toy.KEEP)  # where they wait for the interrupt
    options = ("--workers", str(workers), "--marks", str(marks), "--gates", str(gates))
    process = begin(folder, *options)
    until(lambda: len(list(marks.iterdir())) == workers)
    with pytest.raises(InputError, match="expected no other live run in it"):
        go(folder)
    assert set(table(folder)["grid.status"]) >= {"running"}
    os.killpg(process.pid, signal.SIGINT)
    errors = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130, errors
    assert "stopping at the next checkpoint" in errors and "Traceback" not in errors
    standing = Store.open(folder).standing()
    assert {one.status for one in standing} == {"waiting"}
    assert sum(0 < one.done < one.work for one in standing) == workers
    go(folder)
    assert_same(folder, unbroken)


def test_a_second_run_within_the_first_is_refused(tmp_path: Path):
    met = []

    def work(session: Session) -> None:
        with pytest.raises(InputError, match="no other live run") as error:
            go(tmp_path)
        met.append(error)
        toy.logistic(session)

    go(tmp_path, work)
    assert len(met) == len(BATCHES)


def dead(**changed) -> Owner:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    me = Owner.me()
    started = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19]
    process.kill()
    process.wait()
    fields = {"host": me.host, "pid": process.pid, "started": started}
    return Owner(**fields | changed)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize(
    "changed",
    [{}, {"pid": os.getpid()}, {"host": "elsewhere"}],
    ids=["dead", "reused", "elsewhere"],
)
def test_the_batch_of_a_dead_owner_is_taken_over(tmp_path: Path, unbroken: Path, changed: dict):
    store = Store.prepare(tmp_path, GRID, BATCHES, resume=True)
    start, _ = store.begin("code", {})
    taken = claim(store, dead(**changed), start)
    assert taken is not None
    lost = Session(taken)
    lost.append(0, {"state": np.zeros(4)})
    store.close()
    go(tmp_path)
    assert_same(tmp_path, unbroken)


def test_a_folder_of_another_grid_is_refused(tmp_path: Path, unbroken: Path):
    go(tmp_path)
    for other, message in [
        (toy.toy_grid(seed=1), "its own grid, seed 0, got seed 1"),
        (TrialGrid(GRID.trials, "other", 0), "name toy, got name other"),
        (TrialGrid(GRID.trials[:8], "toy", 0), "number of trials 12, got number of trials 8"),
        (
            TrialGrid([*GRID.trials[:11], Trial({"task": {"m": 8}, "trial": 3}, 7003)], "toy", 0),
            "trial 11 with task.m = 7, got trial 11 with task.m = 8; name another folder",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            run(other, toy.toy_batches(other), toy.logistic, tmp_path)
    with pytest.raises(InputError, match="3 of 3 batches done; resume, or"):
        go(tmp_path, resume=False)
    assert_same(tmp_path, unbroken)


def test_the_first_packing_stands(tmp_path: Path, unbroken: Path, caplog):
    def fails(session: Session) -> None:
        raise RuntimeError("not today")

    with pytest.raises(BatchFailed, match=r"3 of 3 batches failed.*RuntimeError: not today"):
        go(tmp_path, fails)
    turned = [toy.Batch(b.number, b.trials[::-1], b.cost) for b in BATCHES]
    run(GRID, turned, toy.logistic, tmp_path)
    assert "goes on with the packing it was started with" in caplog.text
    assert_same(tmp_path, unbroken)


def test_a_packing_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="every trial of the grid in one place, got 8 places"):
        run(GRID, BATCHES[:2], toy.logistic, tmp_path)
    with pytest.raises(InputError, match="every trial of the grid in one place, got 16 places"):
        run(GRID, [*BATCHES, BATCHES[0]], toy.logistic, tmp_path)


def test_one_failure_does_not_stop_the_others(tmp_path: Path, unbroken: Path):
    def work(session: Session) -> None:
        if session.batch.number == 1:
            raise RuntimeError("a bad batch")
        toy.logistic(session)

    with pytest.raises(BatchFailed, match="1 of 3 batches failed, first batch 1: RuntimeError"):
        go(tmp_path, work)
    failed = Store.open(tmp_path).standing()[1]
    assert failed.error is not None and "Traceback" in failed.error
    go(tmp_path)
    assert_same(tmp_path, unbroken)


def test_work_that_forgets_to_finish_fails(tmp_path: Path):
    with pytest.raises(BatchFailed, match="without finish"):
        go(tmp_path, lambda session: None)


def test_work_that_cannot_travel_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="a function of a module"):
        go(tmp_path, lambda session: None, workers=2)


def test_a_hard_interrupt_leaves_it_resumable_in_the_same_process(tmp_path: Path, unbroken: Path):
    def work(session: Session) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, work)
    go(tmp_path)
    assert_same(tmp_path, unbroken)

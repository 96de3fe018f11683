"""Killed at any moment, a grid of trainings goes on and ends with the table of an unbroken run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import training_toy as toy
from dudley.lab import Store, curves, table
from dudley.lab.store.claims import claims
from live import until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills processes")


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As in the processes that are killed: the number of threads moves last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken")
    toy.train_toy(folder)
    return folder


def begin(folder: Path, workers: int) -> subprocess.Popen:
    """The toy in a process of its own, which has a group of its own."""
    command = [sys.executable, toy.__file__, str(folder), str(workers)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, start_new_session=True, stderr=subprocess.PIPE, env=environment
    )


def checkpoints(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("checkpoints/*") if path.suffix != ".part"}


def until_it_moves(folder: Path, process: subprocess.Popen, before: set[str]) -> None:
    """Wait for a checkpoint that was not there."""
    until(lambda: checkpoints(folder) - before, process)


def workers(folder: Path) -> list[int]:
    """Processes that hold a batch: at least one, when one begins where another was killed."""
    return until(lambda: [owner.pid for _, owner in claims(Store.open(folder)) if owner.alive()])


def assert_same(folder: Path, unbroken: Path) -> None:
    resumed, expected = table(folder), table(unbroken)
    assert set(resumed["grid.status"]) == {"done"}
    assert repr(resumed.rows) == repr(expected.rows)
    for metric in ("loss", "train_loss", "train_accuracy", "holdout_loss", "holdout_accuracy"):
        pairs = zip(curves(folder, metric), curves(unbroken, metric), strict=True)
        for (steps, values), (true_steps, true_values) in pairs:
            np.testing.assert_array_equal(steps, true_steps)
            assert values.tobytes() == true_values.tobytes()
    assert checkpoints(folder) == set()


@pytest.mark.slow
def test_the_unbroken_run_has_all_that_can_go_wrong(unbroken: Path):
    rows = table(unbroken)
    plain, ruled = rows["grid.batch"] == 0, rows["grid.batch"] == 1
    assert plain.sum() == ruled.sum() == 8
    steps = rows["result.steps"]
    assert (steps[plain] == 76).all() and len(set(steps[ruled])) > 4
    assert 4 <= (steps[ruled] <= 64).sum() < 8, "half left at the third look, others went on"
    assert (rows["result.at best holdout_loss.step"][ruled] < steps[ruled]).any()


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 4])
def test_killed_at_random_moments_one_process_ends_with_the_same_table(tmp_path, unbroken, times):
    draw = random.Random(7)
    for _ in range(times):
        process, before = begin(tmp_path, 1), checkpoints(tmp_path)
        until_it_moves(tmp_path, process, before)
        time.sleep(draw.uniform(0.0, 0.35))
        process.kill()
        assert process.wait(60) == -signal.SIGKILL, process.communicate()
    left = [one for one in Store.open(tmp_path).standing() if one.status != "done"]
    assert left, "the kills left nothing to go on with"
    toy.train_toy(tmp_path)
    assert_same(tmp_path, unbroken)


@pytest.mark.slow  # every start of two workers loads torch three times
def test_workers_and_their_parent_killed_at_random_moments_end_with_the_same_table(
    tmp_path: Path, unbroken: Path
):
    draw = random.Random(8)
    for whole in (False, True):
        process, before = begin(tmp_path, 2), checkpoints(tmp_path)
        for _ in range(1 if whole else 2):
            until_it_moves(tmp_path, process, before)
            time.sleep(draw.uniform(0.0, 0.3))
            before = checkpoints(tmp_path)
            os.kill(draw.choice(workers(tmp_path)), signal.SIGKILL)
        if whole:
            time.sleep(draw.uniform(0.0, 0.3))
        process.kill()
        assert process.wait(60) == -signal.SIGKILL, process.communicate()
    toy.train_toy(tmp_path)
    assert_same(tmp_path, unbroken)


@pytest.mark.slow
def test_a_worker_and_its_parent_killed_end_with_the_same_table(tmp_path: Path, unbroken: Path):
    process = begin(tmp_path, 2)
    until_it_moves(tmp_path, process, set())
    os.kill(workers(tmp_path)[0], signal.SIGKILL)
    process.kill()
    assert process.wait(60) == -signal.SIGKILL, process.communicate()
    toy.train_toy(tmp_path)
    assert_same(tmp_path, unbroken)


@pytest.mark.slow
def test_an_interrupt_stops_at_a_checkpoint(tmp_path: Path, unbroken: Path):
    process = begin(tmp_path, 1)
    until_it_moves(tmp_path, process, set())
    os.killpg(process.pid, signal.SIGINT)
    errors = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 130 and "Traceback" not in errors, errors
    standing = Store.open(tmp_path).standing()
    assert [one.status for one in standing] == ["waiting", "waiting"]
    assert 0 < standing[0].done < standing[0].work
    last = max(checkpoints(tmp_path)).split(".")[1]
    assert int(last) == curves(tmp_path, "loss")[0][0][-1], "all points up to it, none after it"
    toy.train_toy(tmp_path)
    assert_same(tmp_path, unbroken)

"""Owners: a process is told from a later one of its number, from a zombie and from the dead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import grid_toy as toy
from dudley.core.errors import InputError
from dudley.lab import Store
from dudley.lab.store.claims import claim, take_over
from dudley.lab.store.owner import Owner

SELF = "from dudley.lab.store.owner import Owner; print(Owner.me().text, flush=True); input()"


@pytest.fixture
def other():
    """A live process, and its owner as it says itself."""
    process = subprocess.Popen(
        [sys.executable, "-c", SELF], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield process, Owner.read(process.stdout.readline())
    process.kill()
    process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="no start times are read on Windows")
def test_life_and_death(other):
    process, owner = other
    assert owner.pid == process.pid and owner.alive() is True
    assert Owner(owner.host, owner.pid, "another time").alive() is False
    assert Owner("elsewhere", owner.pid, owner.started).alive() is None
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and not reaped: a zombie
    assert owner.alive() is False
    process.wait()
    assert owner.alive() is False


def test_what_this_process_held_in_an_earlier_run_is_freed(tmp_path: Path):
    grid = toy.toy_grid()
    store = Store.prepare(tmp_path, grid, toy.toy_batches(grid), resume=True)
    start, _ = store.begin("code", {})
    claim(store, Owner.me(), start)
    assert take_over(store, patience=0.05) == 1
    assert store.standing()[0].status == "waiting"
    store.close()


def test_a_live_worker_is_waited_for_and_named(other, tmp_path: Path):
    process, owner = other
    grid = toy.toy_grid()
    store = Store.prepare(tmp_path, grid, toy.toy_batches(grid), resume=True)
    start, _ = store.begin("code", {})
    claim(store, owner, start)
    with pytest.raises(InputError, match=f"no live worker in it, got process {process.pid} on"):
        take_over(store, patience=0.05)
    assert store.standing()[0].status == "running"
    process.kill()
    process.wait()
    assert take_over(store) == 1
    assert store.standing()[0].status == "waiting"
    store.close()

"""Two Ray nodes on loopback: a worker is killed, then a node; the table is the local runner's."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

import grid_toy as toy
from dudley.lab import Store, curves, run, table
from dudley.lab.store.schema import batches, checkpoints
from live import until
from ray_nodes import Nodes, kill, node_of

pytestmark = pytest.mark.slow


@pytest.fixture
def nodes(require) -> Iterator[Nodes]:
    require("ray", importlib.util.find_spec("ray") is not None, "pip install '.[ray]'")
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:  # a short name: sockets lie in it
        cluster = Nodes(Path(folder))
        try:
            yield cluster
        finally:
            cluster.end()


def begin(nodes: Nodes, folder: Path, on: str, marks: Path, gates: Path) -> subprocess.Popen:
    command = [sys.executable, toy.__file__, str(folder), "--on", on, "--workers", "2"]
    command += ["--marks", str(marks), "--gates", str(gates)]
    return subprocess.Popen(command, env=nodes.environment, stderr=subprocess.PIPE)


def begun(marks: Path, node: subprocess.Popen, known: set[str]) -> tuple[int, int] | None:
    """The number and the process of a batch that newly runs on a node."""
    for path in marks.iterdir():
        number, pid = map(int, path.name.split("."))
        if path.name not in known and node_of(pid) == node.pid:
            known.add(path.name)
            return number, pid
    return None


def last_step(folder: Path, number: int) -> int:
    """The step of the latest checkpoint of a batch."""
    last = (
        sa.select(sa.func.max(checkpoints.c.step)).join(batches).where(batches.c.number == number)
    )
    store = Store.open(folder)
    with store.database.reading() as connection:
        step = connection.execute(last).scalar_one()
    store.close()
    return step or 0


def attempts(folder: Path) -> int:
    store = Store.open(folder)
    with store.database.reading() as connection:
        return connection.execute(sa.select(sa.func.sum(batches.c.attempt))).scalar_one()


@pytest.mark.parametrize("how", ["member", "client"])
def test_a_worker_killed_then_a_node_and_the_table_is_the_local_one(nodes, tmp_path, how):
    other = nodes.add()
    marks, gates = tmp_path / "marks", toy.hold(tmp_path / "gates", toy.KEEP)
    marks.mkdir()
    on = f"ray?address=127.0.0.2:{nodes.port}" if how == "member" else nodes.url
    driver = begin(nodes, tmp_path / "run", on, marks, gates)

    known, folder = set(), tmp_path / "run"
    number, pid = until(lambda: begun(marks, other, known), driver)
    until(lambda: last_step(folder, number) == toy.KEEP, driver)
    os.kill(pid, signal.SIGKILL)
    number, _ = until(lambda: begun(marks, other, known), driver)
    toy.hold(gates, 2 * toy.KEEP)
    until(lambda: last_step(folder, number) == 2 * toy.KEEP, driver)
    kill(other)
    toy.hold(gates, toy.STEPS)

    errors = driver.communicate(timeout=180)[1].decode()
    assert driver.returncode == 0, errors
    assert errors.count("its worker was lost") == 2, errors
    assert attempts(tmp_path / "run") == 3 + 2

    grid = toy.toy_grid()
    expected = run(grid, toy.toy_batches(grid), toy.logistic, tmp_path / "local")
    assert table(tmp_path / "run") == expected
    assert set(expected["grid.status"]) == {"done"} and len(expected) == len(grid)
    pairs = zip(curves(tmp_path / "run", "state"), curves(tmp_path / "local", "state"), strict=True)
    for (steps, values), (true_steps, true_values) in pairs:
        np.testing.assert_array_equal(steps, true_steps)
        np.testing.assert_array_equal(values, true_values)

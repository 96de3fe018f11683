"""Stores that may not be written, or that are shared."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

import grid_toy as toy
from dudley.core.errors import InputError
from dudley.lab import BatchFailed, Store, curves, run, table
from dudley.lab.runners.run_lock import run_lock
from dudley.lab.store.claims import claim, take_over
from dudley.lab.store.conformance.killed import until_free
from dudley.lab.store.database import StoreFailed
from dudley.lab.store.location import RunLocation
from dudley.lab.store.owner import Owner
from dudley.lab.store.schema import sa, starts
from dudley.lab.store.summary import summary
from postgres_server import Server

GRID = toy.toy_grid()
BATCHES = toy.toy_batches(GRID)
NOBODY = 65534


@contextmanager
def may_not_write(folder: Path) -> Iterator[None]:
    """Files and folder are for reading only; who may write anything becomes somebody else."""
    for path in (*folder.iterdir(), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that somebody else can reach, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="dudley-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_store_that_may_not_be_written_is_read(readable: Path, tmp_path: Path):
    folder = readable / "run"
    run(GRID, BATCHES, toy.logistic, tmp_path)  # modules that somebody else may not read are loaded
    run(GRID, BATCHES, toy.logistic, folder)
    before = (folder / "store.sqlite").read_bytes()
    with may_not_write(folder):
        store = Store.open(folder)
        assert store.grid == GRID and summary(store).trials["done"] == 12
        with pytest.raises(StoreFailed, match="may not be written: attempt to write a readonly"):
            store.begin("code", {})
        store.close()
        results = table(folder)
        assert len(curves(folder, "state")[8][0]) == 13
        with pytest.raises((StoreFailed, OSError)):
            Store.prepare(folder, GRID, BATCHES, resume=True)
    assert (folder / "store.sqlite").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir())[-1] == "store.sqlite"
    assert results == table(folder)


def test_what_is_no_database_is_told(tmp_path: Path):
    (tmp_path / "store.sqlite").write_text("something else entirely" * 100)
    with pytest.raises(StoreFailed, match="file is not a database"):
        table(tmp_path)


def test_tables_of_somebody_else_are_left_alone(database: str, tmp_path: Path):
    import psycopg

    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection:
        connection.execute("CREATE TABLE runs (distance)")
    with psycopg.connect(database, autocommit=True) as theirs:
        theirs.execute("CREATE TABLE runs (distance int)")
        theirs.execute("CREATE SCHEMA apart")
    for location in (tmp_path, f"{database}#run"):
        for use in (table, lambda location: run(GRID, BATCHES, toy.logistic, location)):
            with pytest.raises(InputError, match="that of dudley, got another of that name"):
                use(location)
    apart = f"{database}?options=-csearch_path%3Dapart#run"
    assert len(run(GRID, BATCHES, toy.logistic, apart)) == 12


def test_runs_of_one_database_know_nothing_of_each_other(database: str, tmp_path: Path):
    here, there = (RunLocation.of(f"{database}#{name}") for name in ("a/1", "a/2"))
    other = toy.toy_grid(seed=1)
    run(GRID, BATCHES, toy.logistic, here)
    with pytest.raises(InputError, match=r"run postgresql://.*#a/2: expected the store of a run"):
        table(there)

    def fails(session) -> None:
        session.append(1, {"other": np.zeros(4)})
        raise RuntimeError("not today")

    with pytest.raises(BatchFailed, match=r"3 of 3 batches failed.* are in postgresql://"):
        run(other, toy.toy_batches(other), fails, there)
    with pytest.raises(InputError, match="its own grid, seed 1, got seed 0; name another run"):
        run(GRID, BATCHES, toy.logistic, there)
    run(GRID, BATCHES, toy.logistic, tmp_path)
    assert table(here) == table(tmp_path)
    assert {len(steps) for steps, _ in curves(here, "state")} == {13}
    with pytest.raises(KeyError, match="unknown metric 'state'"):
        curves(there, "state")
    assert summary(here).failures == () and len(summary(there).failures) == 3
    store = Store.open(there)
    assert store.begin("code", {})[1] != set() and store.run == 2
    with store.database.reading() as connection:
        assert set(connection.execute(sa.select(starts.c.run)).scalars()) == {1, 2}
    store.close()


def test_several_workers_share_a_database(database: str, tmp_path: Path):
    location = RunLocation.of(f"{database}#run")
    results = run(GRID, BATCHES, toy.logistic, location, workers=2)
    assert results == run(GRID, BATCHES, toy.logistic, tmp_path)
    assert run(GRID, BATCHES, toy.logistic, str(location)) == results  # finished: nothing is done


def test_a_place_is_held_by_one(location: RunLocation):
    with (
        run_lock(location),
        run_lock(location / "below"),
        pytest.raises(InputError, match="expected no other live run in it, got one that holds it"),
        run_lock(location),
    ):
        pass
    with pytest.raises(RuntimeError) as refusal, run_lock(location):
        raise RuntimeError("broken off")
    with run_lock(location):  # free again, though the error and its frames are still there
        assert refusal.value is not None


def test_a_place_is_free_when_its_holder_is_killed(location: RunLocation):
    code = (
        "import sys, pickle; from dudley.lab.runners.run_lock import run_lock; "
        "location = pickle.load(sys.stdin.buffer)\n"
        "with run_lock(location): print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(pickle.dumps(location))
    process.stdin.flush()
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(InputError, match="no other live run"), run_lock(location):
        pass
    process.kill()
    process.wait()
    until_free(location)


def test_what_another_machine_held_is_taken_over(location: RunLocation):
    store = Store.prepare(location, GRID, BATCHES, resume=True)
    start, _ = store.begin("code", {})
    gone = claim(store, Owner("elsewhere", 1, "0"), start)
    assert gone is not None and take_over(store) == 1
    assert summary(store).batches == {"waiting": 3}
    store.close()


def test_a_role_that_may_only_read_reads(postgres: Server, database: str):
    import psycopg

    if postgres.pid is None:
        pytest.skip("postgres: roles are made on a server of our own only")
    location = RunLocation.of(f"{database}#run")
    run(GRID, BATCHES, toy.logistic, location)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")
    guest = RunLocation.of(str(location).replace("postgres@", "guest@"))
    store = Store.open(guest)
    assert table(guest) == table(location) and summary(store).batches == {"done": 3}
    with pytest.raises(StoreFailed, match="permission denied"):
        store.begin("code", {})
    store.close()
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("DROP OWNED BY guest; DROP ROLE guest")


def test_a_server_that_restarts_is_met_again(postgres: Server, database: str):
    """Connections that were cut are made anew, and what was written before stands."""
    import psycopg

    store = Store.prepare(f"{database}#run", GRID, BATCHES, resume=True)
    start, _ = store.begin("code", {})
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(cut, (database.rpartition("/")[2], connection.info.backend_pid))
    assert claim(store, Owner.me(), start) is not None
    store.close()

"""Stores that somebody else wrote: names in them lead nowhere but into the run's own folder."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import grid_toy as toy
from dudley.core.errors import DudleyError, InputError
from dudley.lab import Session, Store, run
from dudley.lab.store.checkpoints import sweep
from dudley.lab.store.location import RunLocation
from dudley.lab.store.schema import checkpoints, sa

GRID = toy.toy_grid()
BATCHES = toy.toy_batches(GRID)


def begun(location: RunLocation) -> Store:
    """A batch with a checkpoint, given back."""
    store = Store.prepare(location, GRID, BATCHES, resume=True)
    session = Session(toy.taken(store))
    session.checkpoint(1, lambda path: path.write_bytes(b"state"))
    session.claim.release()
    return store


def test_a_checkpoint_outside_the_folder_is_refused(location: RunLocation, tmp_path: Path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    store = begun(location)
    for file in (str(precious), "../precious", "checkpoints/../../precious", "checkpoints/1.1.1/x"):
        with store.database.writing() as connection:
            connection.execute(sa.update(checkpoints).values(file=file))
        claim = toy.taken(store)
        with pytest.raises(InputError, match="a name such as checkpoints/1"):
            Session(claim)
        claim.release()
    assert precious.read_text() == "mine"
    store.close()


def test_files_behind_a_link_are_left_alone(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter").write_text("mine")
    store = Store.prepare(RunLocation.of(tmp_path / "run"), GRID, BATCHES, resume=True)
    (tmp_path / "run/checkpoints").rmdir()
    (tmp_path / "run/checkpoints").symlink_to(home)
    with pytest.raises(InputError, match="a link to elsewhere"):
        sweep(store)
    assert (home / "letter").exists()
    store.close()


def test_only_our_own_files_are_swept(tmp_path: Path):
    store = Store.prepare(RunLocation.of(tmp_path / "run"), GRID, BATCHES, resume=True)
    folder = tmp_path / "run/checkpoints"
    for name in ("000001.000000000001.1", "000001.000000000002.1.part", "notes"):
        (folder / name).touch()
    (folder / "sub").mkdir()
    sweep(store)
    assert {path.name for path in folder.iterdir()} == {"notes", "sub"}
    store.close()


@pytest.mark.parametrize("name", ["..", "a/../b", "./a", "a/.."])
def test_a_name_is_no_way_out_of_a_folder(name: str):
    with pytest.raises(InputError, match="name of a run"):
        RunLocation.of(f"postgresql://ada@db/runs#{name}")


@pytest.mark.parametrize("address", ["", "postgresql:/u:secret@h/db#run"])
def test_an_address_that_is_none_is_no_folder(address: str):
    with pytest.raises(InputError, match="location of a run") as caught:
        RunLocation.of(address)
    assert "secret" not in str(caught.value)


def test_a_run_with_a_batch_that_somebody_holds_is_not_told_as_whole(tmp_path: Path):
    """A table without its trials would be taken for what was found."""

    def work(session: Session) -> None:
        if session.batch.number == 0:
            toy.taken(session.claim.store)  # another worker takes one, and is not heard of again
        toy.logistic(session)

    with pytest.raises(DudleyError, match="1 of 3 batches are held by somebody else"):
        run(GRID, BATCHES, work, tmp_path / "run", progress=False)
    assert len(run(GRID, BATCHES, toy.logistic, tmp_path / "run", progress=False)) == 12


SPOILT = {
    "a view without end": "DROP TABLE points; CREATE VIEW points AS WITH RECURSIVE r(x) AS "
    "(SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT 1 AS batch, x AS step, '[]' AS names FROM r",
    "a trigger": "CREATE TRIGGER t AFTER UPDATE ON batches BEGIN DELETE FROM trials; END",
    "a column that computes": "ALTER TABLE runs ADD COLUMN x AS (zeroblob(100000000)) VIRTUAL",
    "an index that computes": "CREATE INDEX i ON runs (length(name))",
    "a virtual table": "CREATE VIRTUAL TABLE v USING fts5(x)",
}


@pytest.mark.parametrize("what", SPOILT)
def test_sql_inside_a_store_does_not_run(tmp_path: Path, what: str):
    Store.prepare(tmp_path / "run", GRID, BATCHES, resume=True).close()
    with closing(sqlite3.connect(tmp_path / "run/store.sqlite")) as connection:
        connection.executescript(SPOILT[what])
    with pytest.raises(InputError, match="runs SQL of its own"):
        Store.open(tmp_path / "run")
    with pytest.raises(InputError, match="runs SQL of its own"):
        Store.prepare(tmp_path / "run", GRID, BATCHES, resume=True)

"""The stores of a run by their names, and an experiment whose stores are in a database."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from dudley.core.errors import InputError
from dudley.lab import summary
from dudley.lab.store.find import stores
from dudley.lab.store.location import RunLocation
from tiny_run import tiny


def test_a_place_is_found_itself(location: RunLocation):
    tiny(location)
    assert list(stores(location)) == [""]


def test_places_below_are_found_by_name(location: RunLocation):
    for name in ("near", "far", "far/round-1"):
        tiny(location / name)
    tiny(location / "near-by")
    listed = stores(location)
    assert sorted(listed) == ["far", "far/round-1", "near", "near-by"]
    assert summary(listed["far/round-1"]).trials == {"done": 4}


def test_a_name_that_only_begins_alike_is_another_run(of_all: str):
    tiny(RunLocation.of(f"{of_all}#study"))
    tiny(RunLocation.of(f"{of_all}#study-2"))
    assert list(stores(f"{of_all}#study")) == [""]
    with pytest.raises(InputError, match="the store of a run"):
        stores(f"{of_all}#stud")


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path):
    tiny(tmp_path / "ours")
    (tmp_path / "theirs").mkdir()
    file = tmp_path / "theirs/store.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE notes (a)")
    before = file.read_bytes()
    assert list(stores(tmp_path)) == ["ours"]
    assert file.read_bytes() == before and [path.name for path in file.parent.iterdir()] == [
        file.name
    ]


def test_an_empty_database_holds_no_run(database: str):
    with pytest.raises(InputError, match="the store of a run"):
        stores(f"{database}#any")


@pytest.mark.slow
def test_an_experiment_in_a_database_is_that_of_a_folder(database: str, tmp_path: Path, smoke):
    def dudley(*words: str | Path, code: int = 0) -> str:
        command = [sys.executable, "-m", "dudley", "lab", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout

    here, there = smoke("edelman2021-and").folder, tmp_path / "there"
    run, address = ("run", "edelman2021-and", "--scale", "smoke"), f"{database}#smoke"
    dudley(*run, "--out", there, "--store", address)
    assert not (there / "store").exists()
    assert "36 done; 100% of the work" in dudley("status", address)
    assert "36 of 36 equal" in dudley("diff", address, here)
    dudley("export", address, "--out", "tables")
    assert (tmp_path / "tables/and/curves.parquet").is_file()
    for table in ("trials.parquet", "curves.parquet", "bounds.parquet"):
        assert (here / table).read_bytes() == (there / table).read_bytes()
    dudley(*run, "--out", there, "--store", address, "--again", code=2)

"""Slurm's runner: with submitit's local executor in Slurm's place, and with stand-ins for its
commands and a true database."""

from __future__ import annotations

import importlib.util
import os
from functools import partial
from pathlib import Path

import pytest

import grid_toy as toy
from dudley.lab import BatchFailed, Session, TrialTable, run
from dudley.lab.store.location import RunLocation
from fake_slurm import install

GRID = toy.toy_grid()


@pytest.fixture(autouse=True)
def _submitit(require, monkeypatch) -> None:
    require("submitit", importlib.util.find_spec("submitit") is not None, "pip install '.[slurm]'")
    monkeypatch.setenv("PYTHONPATH", str(Path(toy.__file__).parent), prepend=os.pathsep)


def go(folder: Path, work=toy.logistic, **options) -> TrialTable:
    on = f"slurm?cluster=local&folder={folder}-jobs"
    return run(GRID, toy.toy_batches(GRID), work, folder, on=on, **options)


def fails(session: Session) -> None:
    raise RuntimeError("not today")


def test_two_jobs_share_the_batches_with_one_thread_each(tmp_path: Path):
    marks = tmp_path / "marks"
    marks.mkdir()
    results = go(tmp_path / "run", partial(toy.meets, marks=marks), workers=2)
    assert results == run(GRID, toy.toy_batches(GRID), toy.logistic, tmp_path / "local")


@pytest.mark.slow
def test_a_job_that_dies_is_replaced(tmp_path: Path):
    results = go(tmp_path / "run", partial(toy.dies, marks=tmp_path, times=1))
    assert results == run(GRID, toy.toy_batches(GRID), toy.logistic, tmp_path / "local")
    assert (tmp_path / "death0").exists()


@pytest.mark.slow
def test_a_batch_that_kills_its_jobs_is_given_up(tmp_path: Path):
    with pytest.raises(BatchFailed, match="1 of 3 batches failed, first batch 1: its worker died"):
        go(tmp_path / "run", partial(toy.dies, marks=tmp_path, times=3))


@pytest.mark.slow
def test_the_warning_before_its_end_makes_a_job_stop_and_another_goes_on(tmp_path: Path):
    results = go(tmp_path / "run", partial(toy.warned, marks=tmp_path))
    assert results == run(GRID, toy.toy_batches(GRID), toy.logistic, tmp_path / "local")
    assert len(list(tmp_path.glob("warned.*"))) == 2


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch) -> Path:
    """Commands of Slurm's names on PATH."""
    commands = install(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(commands), prepend=os.pathsep)
    return commands


@pytest.mark.slow
def test_jobs_of_a_queue_share_a_database_and_one_that_dies_is_replaced(
    tmp_path: Path, database: str, slurm: Path, monkeypatch
):
    monkeypatch.setattr("dudley.lab.runners.slurm.ASK", 1.0)
    monkeypatch.setattr("dudley.lab.runners.slurm.PATIENCE", 1.0)
    location = RunLocation.of(f"{database}#toy")
    work = partial(toy.dies, marks=tmp_path, times=1)
    on = f"slurm?folder={tmp_path}/jobs&minutes=5&partition=any"
    results = run(GRID, toy.toy_batches(GRID), work, location, on=on, workers=2)
    assert results == run(GRID, toy.toy_batches(GRID), toy.logistic, tmp_path / "local")
    assert (tmp_path / "death0").exists()
    assert "#SBATCH --partition=any" in next((tmp_path / "jobs").rglob("*.sh")).read_text()


@pytest.mark.slow
def test_jobs_that_outlived_an_earlier_start_are_ended_first(
    tmp_path: Path, database: str, slurm: Path
):
    location = RunLocation.of(f"{database}#toy")
    on = f"slurm?folder={tmp_path}/jobs"
    with pytest.raises(BatchFailed):
        run(GRID, toy.toy_batches(GRID), fails, location, on=on)
    (owner,) = (tmp_path / "jobs").rglob("*.owner")
    results = run(GRID, toy.toy_batches(GRID), toy.logistic, location, on=on)
    assert set(results["grid.status"]) == {"done"}
    assert (slurm / "cancelled").read_text().split() == [owner.stem]

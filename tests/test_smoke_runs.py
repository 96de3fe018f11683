"""Shared smoke runs: conducted once whoever asks, and a test that writes in one is found out."""

from __future__ import annotations

from pathlib import Path

import pytest

import smoke_runs
from dudley.lab.experiment import EXPERIMENTS
from lab_toy import Toy
from smoke_runs import SmokeRuns


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmokeRuns:
    monkeypatch.setitem(EXPERIMENTS._units, Toy.name, Toy())
    return SmokeRuns(tmp_path / "runs")


def test_another_worker_reads_what_the_first_conducted(runs: SmokeRuns, monkeypatch):
    first = runs(Toy.name)
    assert (first.scale, first.tables, len(first.findings)) == ("smoke", ["line"], 2)
    monkeypatch.setattr(smoke_runs, "conduct", lambda *_: pytest.fail("it was run again"))
    assert SmokeRuns(runs.root)(Toy.name).folder == first.folder


def test_a_run_that_failed_is_conducted_again(runs: SmokeRuns, monkeypatch):
    def fails(name: str, scale: str, folder: Path, bench) -> None:
        folder.mkdir()
        (folder / "half.parquet").touch()
        raise OSError("full")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="full"):
        patch.setattr(smoke_runs, "conduct", fails)
        runs(Toy.name)
    assert runs(Toy.name).tables == ["line"]


def test_a_copy_may_be_written_and_the_run_itself_may_not(runs: SmokeRuns, tmp_path: Path):
    (runs.copy(Toy.name, tmp_path / "own").folder / "findings.json").write_text("[]")
    folder = runs(Toy.name).folder
    (folder / "findings.json").write_text("[]")
    with pytest.raises(AssertionError, match="a test wrote in"):
        runs(Toy.name)

"""A run as Parquet: what the files hold, and that they are whole or as before."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import grid_toy as toy
from dudley.lab import (
    Batch,
    BatchFailed,
    Cost,
    Session,
    Trial,
    TrialGrid,
    TrialTable,
    curves,
    export,
    run,
    table,
)
from dudley.lab.store.location import RunLocation

parquet = pytest.importorskip("pyarrow.parquet")
GRID = toy.toy_grid(seed=2**70)
BATCHES = toy.toy_batches(GRID)


def test_trials_and_curves_are_those_of_the_store(location: RunLocation, tmp_path: Path):
    run(GRID, BATCHES, toy.logistic, location, about={"device": "cpu", "other": [1]})
    files = export(location, tmp_path / "out" / "deep")
    assert [path.name for path in files] == ["trials.parquet", "curves.parquet"]
    assert sorted(path.name for path in files[0].parent.iterdir()) == [
        "curves.parquet",
        "trials.parquet",
    ]
    rows = parquet.read_table(files[0]).to_pylist()
    for number, (row, chosen) in enumerate(zip(rows, table(location), strict=True)):
        assert {name: row[name] for name in chosen} == chosen
        assert row["grid.trial"] == number and row["grid.name"] == "toy"
        assert row["grid.seed"] == str(2**70) and row["grid.device"] == "cpu"
        assert len(row["grid.code"]) == 64 and row["grid.attempt"] == 1 and row["grid.seconds"] > 0
    exported = parquet.read_table(files[1]).to_pydict()
    assert list(exported) == ["grid.trial", "grid.step", "state", "step"]
    trials, steps = np.array(exported["grid.trial"]), np.array(exported["grid.step"])
    assert len(trials) == 12 * 13
    for number, (at, values) in enumerate(curves(location, "state")):
        chosen = trials == number
        np.testing.assert_array_equal(steps[chosen], at)
        np.testing.assert_array_equal(np.array(exported["state"], dtype=np.float32)[chosen], values)


def test_what_is_not_there_is_null_and_what_is_no_number_is_kept(
    location: RunLocation, tmp_path: Path
):
    grid = TrialGrid([Trial({"x": x}, i) for i, x in enumerate([1, "one", None, 2**70])], "g", 0)

    def work(session: Session) -> None:
        if session.batch.number == 1:
            raise RuntimeError("not today")
        session.append(0, {"a": [1.0, np.nan]})
        session.append(5, {"b": [np.inf, 2.0]})
        session.finish([{"r": float("nan")}, {"r": 1}])

    batches = [Batch(i, grid.trials[2 * i : 2 * i + 2], Cost(1, 1.0)) for i in (0, 1)]
    with pytest.raises(BatchFailed):
        run(grid, batches, work, location)
    trials, lines = export(location, tmp_path)
    rows = parquet.read_table(trials).to_pylist()
    assert [row["x"] for row in rows] == ["1", '"one"', None, str(2**70)]  # JSON: several types
    assert np.isnan(rows[0]["result.r"]) and rows[1]["result.r"] == 1 and rows[2]["grid.seed"] == 0
    assert rows[2]["grid.status"] == "failed" and rows[0]["grid.device"] == ""
    assert str(parquet.read_table(lines).to_pylist()) == str(
        [
            {"grid.trial": 0, "grid.step": 0, "a": 1.0, "b": None},
            {"grid.trial": 0, "grid.step": 5, "a": None, "b": float("inf")},
            {"grid.trial": 1, "grid.step": 0, "a": float("nan"), "b": None},
            {"grid.trial": 1, "grid.step": 5, "a": None, "b": 2.0},
        ]
    )


def test_a_run_without_points_has_empty_curves(tmp_path: Path):
    grid = TrialGrid([Trial({"m": 1}, 0)], "g", 0)
    run(grid, [Batch(0, grid.trials, Cost(1, 1.0))], lambda s: s.finish([{}]), tmp_path / "run")
    exported = parquet.read_table(export(tmp_path / "run", tmp_path)[1])
    assert exported.num_rows == 0 and exported.column_names == ["grid.trial", "grid.step"]


def test_long_curves_are_written_by_parts(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(import_module("dudley.lab.store.export"), "ROWS", 60)
    run(GRID, BATCHES, toy.logistic, tmp_path / "run")
    whole = parquet.ParquetFile(export(tmp_path / "run", tmp_path)[1])
    assert whole.num_row_groups == 2 and whole.metadata.num_rows == 12 * 13


@pytest.mark.parametrize("which", ["table", "curves"])
def test_a_failure_leaves_the_files_as_they_were(tmp_path: Path, monkeypatch, which: str):
    run(GRID, BATCHES, toy.logistic, tmp_path / "run")
    out = tmp_path / "out"
    export(tmp_path / "run", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def full(*args) -> None:
        Path(args[-1]).write_bytes(b"half")
        raise OSError("no space left")

    module = import_module("dudley.lab.store.export")
    owner, name = (TrialTable, "to_parquet") if which == "table" else (module, "_write_curves")
    monkeypatch.setattr(owner, name, full)
    with pytest.raises(OSError, match="no space left"):
        export(tmp_path / "run", out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before

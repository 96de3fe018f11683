"""Tables and stores: columns, Parquet, what is refused."""

from __future__ import annotations

import sqlite3
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import grid_toy as toy
from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing
from dudley.lab import Batch, Cost, Session, Store, Trial, TrialGrid, TrialTable, curves, run, table

BIG = 2**64 - 1


@pytest.fixture
def trials(tmp_path: Path) -> TrialTable:
    configs = [
        {"task": {"m": 50, "name": "and"}, "rate": 1, "shape": [1, 2]},
        {"task": {"m": 60, "name": "or"}, "rate": 0.5, "shape": [3]},
    ]
    trials = tuple(Trial(config, BIG - i) for i, config in enumerate(configs))
    results = [{"good": True, "loss": float("nan")}, {"good": False, "loss": 2, "extra": "x"}]

    def work(session: Session) -> None:
        session.finish(results)

    batch = Batch(0, trials, Cost(0, 1.0))
    return run(TrialGrid(trials, "a", 0), [batch], work, tmp_path / "run", about={"device": "cpu"})


def test_columns_have_the_types_of_their_values(trials: TrialTable):
    assert trials["task.m"].dtype == np.int64 and list(trials["task.name"]) == ["and", "or"]
    assert trials["rate"].dtype == float and list(trials["rate"]) == [1.0, 0.5]
    assert trials["result.good"].dtype == bool
    assert np.isnan(trials["result.loss"][0]) and trials["result.loss"][1] == 2
    assert list(trials["result.extra"]) == [None, "x"]
    assert list(trials["shape"]) == [[1, 2], [3]]
    assert trials["grid.key"].dtype == np.uint64 and list(trials["grid.key"]) == [BIG, BIG - 1]
    assert len(trials) == 2 and [row["task.m"] for row in trials] == [50, 60]
    with pytest.raises(KeyError, match=r"did you mean task\.m"):
        trials["task.n"]


def test_parquet_holds_the_same(trials: TrialTable, tmp_path: Path):
    parquet = pytest.importorskip("pyarrow.parquet")
    trials.to_parquet(tmp_path / "table.parquet")
    back = parquet.read_table(tmp_path / "table.parquet").to_pylist()
    assert back[1] == trials.rows[1] and back[0]["grid.key"] == BIG
    assert back[0]["result.extra"] is None


def test_a_data_frame_holds_the_same(trials: TrialTable, require):
    require("pandas", find_spec("pandas") is not None, "pip install '.[pandas]'")
    frame = trials.to_pandas()
    assert list(frame.columns) == trials.names and len(frame) == 2
    for name in ("task.m", "rate", "result.loss", "result.good", "grid.key"):
        assert frame[name].dtype == trials[name].dtype, name
        np.testing.assert_array_equal(frame[name], trials[name])
    assert list(frame["result.extra"].isna()) == [True, False] and frame["shape"][0] == [1, 2]


def test_without_pyarrow_the_extra_is_named(trials: TrialTable, tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ExtraMissing, match=r"needs pyarrow.*pip install '\.\[lab\]'"):
        trials.to_parquet(tmp_path / "table.parquet")


def test_a_start_is_stored_with_its_code_and_device(trials: TrialTable, tmp_path: Path):
    rows = sqlite3.connect(tmp_path / "run/store.sqlite").execute(
        "select code, about, owner from starts"
    )
    ((code, about, owner),) = rows.fetchall()
    assert len(code) == 64 and about == '{"device":"cpu"}' and '"pid"' in owner


def test_a_folder_can_be_moved(tmp_path: Path):
    grid = toy.toy_grid()
    store = Store.prepare(tmp_path / "here", grid, toy.toy_batches(grid), resume=True)
    store.close()
    (tmp_path / "here").rename(tmp_path / "a folder with 100% odd? name#")
    done = run(
        grid, toy.toy_batches(grid), toy.logistic, tmp_path / "a folder with 100% odd? name#"
    )
    assert set(done["grid.status"]) == {"done"}
    assert not list((tmp_path / "a folder with 100% odd? name#").glob("*-wal"))


def test_a_folder_without_a_run_is_refused_and_left_as_it_was(tmp_path: Path):
    for read in (table, lambda folder: curves(folder, "loss")):
        with pytest.raises(InputError, match="expected the store of a run, got none"):
            read(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("version", "writer"), [(1, "an older"), (99, "a newer")])
def test_a_store_of_another_version_is_refused(
    trials: TrialTable, tmp_path: Path, version: int, writer: str
):
    with sqlite3.connect(tmp_path / "run/store.sqlite") as connection:
        connection.execute("update runs set schema = ?", (version,))
    connection.close()
    expected = f"tables of version 2, got version {version}; {writer} dudley wrote it: read it with"
    with pytest.raises(InputError, match=expected):
        table(tmp_path / "run")


def test_other_code_is_told(tmp_path: Path, monkeypatch, caplog):
    grid = toy.toy_grid()
    run(grid, toy.toy_batches(grid), toy.logistic, tmp_path)
    assert "other code" not in caplog.text
    monkeypatch.setattr("dudley.lab.runners.launch.code_digest", lambda: "another")
    run(grid, toy.toy_batches(grid), toy.logistic, tmp_path)
    assert "begun with other code" in caplog.text


def test_the_grid_imports_no_torch():
    import subprocess

    code = "import sys, dudley.lab; print([m for m in ('torch', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

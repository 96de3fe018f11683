"""``dudley lab status | retry | export | diff`` on small runs."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from dudley.lab import BatchFailed
from dudley.lab.store.store import Store
from tiny_run import tiny


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def broken(folder: Path) -> Path:
    """Two of three cells done, one failed."""
    with pytest.raises(BatchFailed):
        tiny(folder / "run", (5, 6, 7), fails=(6,))
    return folder / "run"


def test_status_counts_cells_and_names_errors(dudley, broken):
    done = dudley("lab", "status", "run")
    assert done.code == 0 and done.err == ""
    assert "trials             4 done, 2 failed; 67% of the work" in done.out
    assert "  m  done\n  5   2/2\n  6   0/2  2 failed\n" in done.out
    assert "batch 1, attempt 1: ArithmeticError: no square of 6" in done.out
    assert (
        "Traceback" not in done.out
        and "Traceback" in dudley("lab", "status", "run", "--errors").out
    )
    (run,) = dudley("lab", "status", "run", "--json").json()["items"]
    assert run["trials"] == {"done": 4, "failed": 2} and run["share"] == pytest.approx(2 / 3)
    assert run["cells"][1] == {"m": 6, "trials": {"failed": 2}}
    assert run["trials_a_second"] > 0 and run["remaining"] == 0 and run["workers"] == []


def test_cells_by_other_names(dudley, broken):
    (run,) = dudley("lab", "status", "run", "--by", "trial", "--json").json()["items"]
    assert [cell["trials"] for cell in run["cells"]] == [{"done": 2, "failed": 1}] * 2

    done = dudley("lab", "status", "run", "--by", "n")
    assert done.code == 2 and "names of its configs: m, trial" in done.err


def test_cells_are_told_apart_by_as_few_names_as_do(dudley, folder):
    from dudley.lab import Batch, Cost, Trial, TrialGrid, run

    readings = {"printed": 0.5, "longer": 0.1}
    configs = [
        {"model": {"T": T}, "reading": name, "task": {"T": T}, "training": {"lr": lr}, "trial": i}
        for T in (8, 16)
        for name, lr in readings.items()
        for i in (0, 1)
    ]
    grid = TrialGrid([Trial(config, 0) for config in configs], "four", 0)
    run(grid, [Batch(0, grid.trials, Cost(1, 1.0))], lambda s: s.finish([{}] * 8), folder / "run")
    (status,) = dudley("lab", "status", "run", "--json").json()["items"]
    assert [[*cell.values()] for cell in status["cells"]] == [
        [name, T, {"done": 2}] for T in (8, 16) for name in readings
    ]
    assert list(status["cells"][0]) == ["reading", "task.T", "trials"]


def test_watching_ends_with_the_run(dudley, broken):
    done = dudley("lab", "status", "run", "--watch", "0.1")
    assert done.code == 0 and "2 failed" in done.out


def test_retry_lets_what_failed_wait_and_the_next_start_ends_it(dudley, broken):
    assert "1 failed batches wait again" in dudley("lab", "retry", "run").out
    (run,) = dudley("lab", "status", "run", "--json").json()["items"]
    assert run["trials"] == {"done": 4, "waiting": 2}
    tiny(broken, (5, 6, 7))
    (run,) = dudley("lab", "status", "run", "--json").json()["items"]
    assert run["trials"] == {"done": 6}
    assert run["errors"][0]["attempt"] == 1  # what went wrong before is not forgotten


def test_export_writes_trials_and_curves_of_every_store(dudley, folder):
    tiny(folder / "run/store/near")
    tiny(folder / "run/store/far", (50,))
    done = dudley("lab", "export", "run", "--out", "tables")
    assert done.code == 0
    trials = parquet.read_table(folder / "tables/near/trials.parquet").to_pydict()
    assert trials["result.square"] == [25, 25, 36, 36]
    curves = parquet.read_table(folder / "tables/far/curves.parquet").to_pydict()
    assert curves["grid.step"] == [1, 1] and curves["loss"] == pytest.approx([0.02, 0.02])


def test_diff_finds_nothing_between_equal_runs(dudley, folder):
    tiny(folder / "one")
    tiny(folder / "two")
    done = dudley("lab", "diff", "one", "two")
    assert done.code == 0 and "results: 4 of 4 equal" in done.out


def test_diff_names_trials_fields_and_results(dudley, folder):
    tiny(folder / "one", (5, 6))
    tiny(folder / "two", (5, 7), off=0.5)
    done = dudley("lab", "diff", "one", "two")
    assert done.code == 1
    assert "2 trials in both, 2 only in the first, 2 only in the second" in done.out
    lines = [line.split() for line in done.out.splitlines()]
    assert ["m", "6", "7"] in lines and ["square", "2", "0.5"] in lines
    assert "results: 0 of 2 equal" in done.out
    assert "even" not in done.out
    differing = dudley("lab", "diff", "one", "two", "--json")
    assert differing.code == 1 and differing.json()["items"][0]["equal"] is False


def test_diff_does_not_call_an_unfinished_run_equal(dudley, broken, folder):
    tiny(folder / "whole", (5, 6, 7))
    done = dudley("lab", "diff", "whole", "run")
    assert done.code == 1 and "2 not done in one or the other" in done.out


def test_a_live_worker_is_told(dudley, folder):
    from dudley.lab.store.claims import claim
    from dudley.lab.store.owner import Owner

    with pytest.raises(BatchFailed):
        tiny(folder / "run", fails=(5, 6))
    dudley("lab", "retry", "run")
    store = Store.open(folder / "run")
    start, _ = store.begin("0" * 64, {})
    claim(store, Owner.me(), start)
    store.close()
    done = dudley("lab", "status", "run")
    assert "2 running, 2 waiting" in done.out
    worker = next(line for line in done.out.splitlines() if str(Owner.me()) in line)
    assert re.search(r"  0        2    0%  last wrote \d+ s ago$", worker)


@pytest.mark.parametrize("command", ["status", "retry", "export"])
def test_a_folder_without_a_run_is_refused(dudley, folder, command):
    (folder / "empty").mkdir()
    done = dudley("lab", command, "empty")
    assert (
        done.code == 2 and "the store of a run" in done.err and not (folder / "dudley-lab").exists()
    )
    assert list((folder / "empty").iterdir()) == []


def test_stores_of_different_names_are_not_compared(dudley, folder):
    tiny(folder / "one/store/a")
    tiny(folder / "one/store/b")
    tiny(folder / "two/store/a")
    done = dudley("lab", "diff", "one", "two")
    assert done.code == 2 and "a, b" in done.err


def test_a_worker_that_ended_is_reported_and_not_waited_for(dudley, folder):
    from dudley.lab.store.claims import claim
    from dudley.lab.store.owner import Owner

    with pytest.raises(BatchFailed):
        tiny(folder / "run", (5, 6, 7), fails=(6,))
    dudley("lab", "retry", "run")
    store = Store.open(folder / "run")
    start, _ = store.begin("0" * 64, {})
    claim(store, Owner(Owner.me().host, 999_999_999, "never"), start)
    store.close()
    done = dudley("lab", "status", "run", "--watch", "0.1")
    assert done.code == 0 and "its process has ended" in done.out


def test_a_config_that_comes_twice_is_compared_twice(dudley, folder):
    from dudley.lab import Batch, Cost, Trial, TrialGrid, run

    grid = TrialGrid([Trial({"m": 5}, key) for key in (1, 2)], "twice", 0)
    for name, squares in (("one", (1, 2)), ("two", (0, 2))):
        rows = [{"square": square} for square in squares]
        batch = Batch(0, grid.trials, Cost(1, 1.0))
        run(grid, [batch], lambda session, rows=rows: session.finish(rows), folder / name)
    done = dudley("lab", "diff", "one", "two")
    assert done.code == 1 and "results: 1 of 2 equal" in done.out


def test_passwords_are_not_shown(dudley, folder):
    secret = "postgresql://ada:hunter2@127.0.0.1:1/none?sslpassword=hunter3#run"
    for words in (("status", secret), ("diff", secret, secret), ("retry", secret)):
        done = dudley("lab", *words)
        assert done.code == 2 and "hunter" not in done.out + done.err
    run = ("lab", "run", "edelman2021-and", "--scale", "smoke", "--store", secret)
    for words in ((*run, "--again"), run):
        done = dudley(*words)
        assert done.code == 2 and "hunter" not in done.out + done.err


def test_a_store_that_takes_nothing_more_is_told_once(folder, monkeypatch, caplog):
    """A batch fails since its disk is full, and so does the note of it."""
    from dudley.lab.store.claims import Claim
    from dudley.lab.store.database import StoreFailed

    def full(*_):
        raise StoreFailed("store run: database or disk is full")

    monkeypatch.setattr(Claim, "fail", full)
    with pytest.raises(StoreFailed, match="disk is full"):
        tiny(folder / "run", fails=(5, 6))
    assert not caplog.records

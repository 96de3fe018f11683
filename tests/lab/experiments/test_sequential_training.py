"""Sequential runs that train: trials of the full grid, rounds that survive a break."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from dudley.core.errors import InputError
from dudley.lab.conduct import conduct, findings
from dudley.lab.experiment import EXPERIMENTS, Bench
from dudley.lab.shared import sequential as module
from dudley.lab.shared.edelman2021_protocol import sparse_and
from dudley.lab.shared.sequential import at_most, designed, sequential, some_trials
from dudley.lab.shared.training_table import read
from dudley.lab.statistics.sequential import Design
from dudley.lab.training import trainings

TINY = {
    "seed": 3, "trials": 6, "learnt": 0.8,
    "protocol": sparse_and([6, 10], [10, 30, 90], steps=8, holdout=60, every=4, rate=1e-2,
                           sizes={"d": 8, "H": 2}),
    "design": asdict(Design(share=0.7, scan=2, rounds=3)),
}  # fmt: skip
BENCH = Bench(progress=False)


def test_its_trials_are_some_of_the_full_grids():
    full = {trial.hash for trial in trainings("and", 3, TINY["protocol"], 6).trials}
    first, last = np.array([[0, 2, 0], [1, 0, 0]]), np.array([[2, 5, 0], [6, 0, 1]])
    some = some_trials(TINY, first, last)
    assert len(some) == 11 and {trial.hash for trial in some.trials} < full


def test_a_broken_run_goes_on_and_ends_the_same(tmp_path: Path, monkeypatch):
    whole = sequential(TINY, tmp_path / "whole", BENCH, ("holdout_accuracy",))
    rounds = int(max(whole["round"]))
    assert rounds > 1 and len(whole["T"]) <= at_most(TINY).trials < 36
    for T, m in {*zip(whole["T"], whole["m"], strict=True)}:
        trials = [t for t, a, b in zip(whole["trial"], whole["T"], whole["m"], strict=True)
               if (a, b) == (T, m)]  # fmt: skip
        assert trials == list(range(len(trials)))  # in the order of their numbers
    train, made = module.columns_of, []

    def breaks(grid, store, *rest):
        made.append(store.folder.name)
        if store.folder.name == "round-2":
            raise KeyboardInterrupt
        return train(grid, store, *rest)

    monkeypatch.setattr(module, "columns_of", breaks)
    with pytest.raises(KeyboardInterrupt):
        sequential(TINY, tmp_path / "broken", BENCH, ("holdout_accuracy",))
    assert made == ["round-1", "round-2"]
    monkeypatch.setattr(module, "columns_of", train)
    again = sequential(TINY, tmp_path / "broken", BENCH, ("holdout_accuracy",))
    assert list(again) == list(whole)
    assert all(np.array_equal(again[name], whole[name]) for name in whole)


def test_only_experiments_with_a_critical_m_take_the_design():
    experiment = EXPERIMENTS["edelman2021-and"]
    assert "design" not in designed(experiment, "smoke")
    config = designed(experiment, "paper", "sequential")
    most = at_most(config)
    assert (most.trials, most.rounds, most.share) == (3520, 6, pytest.approx(0.533))
    with pytest.raises(InputError, match="full"):
        designed(EXPERIMENTS["edelman2021-parity"], "smoke", "sequential")


@pytest.mark.slow
def test_smoke_scale_runs_and_is_drawn(tmp_path: Path):
    from dudley.lab.figures.draw import draw
    from dudley.lab.pages.results import Results

    conduct("edelman2021-and", "smoke", tmp_path / "run", BENCH, design="sequential")
    (finding,) = [one for one in findings(tmp_path / "run") if "full_grid" in one.numbers]
    table = read(tmp_path / "run" / "trials.parquet")
    assert finding.numbers["trials"] == len(table["T"]) == sum(finding.numbers["rounds"])
    assert finding.numbers["share"] <= 0.4 and finding.numbers["full_grid"] == 36
    assert [row["T"] for row in finding.numbers["columns"]] == [6, 10, 16]
    drawn = draw(Results(tmp_path / "run"), tmp_path / "figures", (".svg",))
    assert any("sequential" in sketch.caption for sketch, _ in drawn)

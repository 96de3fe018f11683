"""Sparse majority: the run end to end, verdicts on tables with a known answer, bounds by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from dudley.lab.experiment import EXPERIMENTS
from dudley.lab.experiments.trauger2024_majority.bounds import corollary, norms
from dudley.lab.experiments.trauger2024_majority.experiment import (
    SparseMajority,
    outcome,
    quantities,
    trend,
)
from dudley.lab.shared.training_table import read, write
from dudley.models import MajorityClassifier
from dudley.train.problem import Problem
from dudley.train.trainer import Memory, Trainer

NAME = "trauger2024-majority"
NEVER = "not reproduced under any reading tried"
EXPERIMENT = SparseMajority()


@pytest.fixture(scope="module")
def folder(smoke) -> Path:
    """The finished smoke run."""
    return smoke(NAME).folder


@pytest.mark.slow
def test_smoke_runs_end_to_end(folder):
    config, findings = (
        EXPERIMENT.config("smoke"),
        json.loads((folder / "findings.json").read_text()),
    )
    trials, curves = (read(folder / f"{name}.parquet") for name in ("trials", "curves"))
    task = config["protocol"]["task"]
    assert len(trials["T"]) == config["runs"] * len(task["T"]) == len(curves["epoch"])
    assert sorted(set(trials["T"])) == task["T"] and (folder / "store").exists()
    assert [one["claim"][:9] for one in findings[:3]] == ["Figure 1:", "Figure 2:", "Figure 3:"]
    assert len(findings) == 7 and EXPERIMENTS[NAME].name == NAME
    first = trials["trial"] < config["bounds"]["runs"]
    assert np.isfinite(trials["calculus_log10_n"][first]).all()
    assert np.isnan(trials["calculus_log10_n"][~first]).all()


@pytest.mark.slow
def test_a_seeded_run_is_the_committed_one(folder):
    """One trial alone: the row that the grid gave it."""
    config, trials = EXPERIMENT.config("smoke"), read(folder / "trials.parquet")
    protocol = config["protocol"]
    trial = protocol | {"task": protocol["task"] | {"T": 8}, "trial": 1, "seed": config["seed"]}
    problem = Problem([trial])
    trainer = Trainer(problem, Memory())
    results = trainer.run()
    assert results is not None
    (i,) = np.flatnonzero((trials["T"] == 8) & (trials["trial"] == 1))
    best = results[0]["at best validation_loss"]
    for name in ("l1", "train_loss", "validation_loss", "holdout_loss"):
        assert trials[name][i] == pytest.approx(best[name], rel=1e-4)
    assert trials["step"][i] == best["step"]
    weights = trainer.period.best_weights(trainer.whole, "validation_loss")
    # every entry of every weight, counted by hand
    assert trials["l1"][i] == pytest.approx(
        float(sum(W.detach().abs().sum() for W in weights.values())), rel=1e-4
    )


@pytest.mark.slow
def test_the_leaky_report_is_on_the_set_that_chose_and_the_clean_one_is_not(folder):
    trials = read(folder / "trials.parquet")
    leaky, clean, last = (quantities(trials, which) for which in ("leaky", "clean", "last"))
    assert (leaky["gap"] == trials["validation_loss"] - trials["train_loss"]).all()
    assert (clean["accuracy"] == trials["holdout_accuracy"]).all()
    assert (last["accuracy"] == trials["holdout_accuracy_last"]).all()
    assert not np.allclose(leaky["accuracy"], clean["accuracy"])


def planted(folder: Path, rise: dict[str, float], noise: float = 0.01, runs: int = 5) -> list:
    """Findings on a table whose quantities change by so much from T = 20 to 200."""
    config, source = EXPERIMENT.config("paper"), np.random.default_rng(3)
    T = np.repeat(config["protocol"]["task"]["T"], runs)
    u = (T - 20) / 180

    def values(quantity: str, level: float) -> np.ndarray:
        return level + rise.get(quantity, 0.0) * u + noise * source.normal(size=len(T))

    n = len(T)
    model = norms(MajorityClassifier(20))
    columns = {name: np.full(n, value) for name, value in model.items()}
    columns |= {"T": T, "m": np.full(n, 300), "trial": np.tile(np.arange(runs), n // runs)}
    columns |= {"steps": np.full(n, 9000), "step": np.full(n, 6000)}
    columns |= {"train_accuracy_last": np.ones(n), "train_accuracy": np.ones(n)}
    columns |= {"train_loss": np.full(n, 0.1), "train_loss_last": np.full(n, 0.1)}
    columns |= {"l1": values("l1", 2.0), "l1_last": values("l1", 2.0)}
    for split in ("validation_loss", "holdout_loss", "holdout_loss_last"):
        columns[split] = 0.1 + values("gap", 0.2)
    for split in ("validation_accuracy", "holdout_accuracy", "holdout_accuracy_last"):
        columns[split] = values("accuracy", 0.9)
    columns |= {"calculus_gap": np.full(n, 2.0), "calculus_log10_n": np.full(n, 7.0)}
    write(folder / "trials.parquet", columns)
    return EXPERIMENT.analyse(config, folder)


@pytest.mark.parametrize(
    ("rise", "verdicts"),
    [
        ({}, ["reproduced"] * 3),
        ({"l1": 0.5, "gap": 0.2, "accuracy": -0.3}, [NEVER] * 3),
        ({"l1": -0.5}, ["reproduced"] * 3),  # it may fall
        ({"gap": -0.2}, ["reproduced", NEVER, "reproduced"]),
        ({"l1": 0.02, "accuracy": 0.02}, ["reproduced"] * 3),  # there, but within the margins
    ],
)
def test_planted_trends_are_found_and_none_is_not(tmp_path, rise, verdicts):
    findings = planted(tmp_path, rise)
    assert [one.verdict for one in findings[:3]] == verdicts
    for quantity, finding in zip(("l1", "gap", "accuracy"), findings, strict=False):
        low, high = finding.numbers["trend"]["clean"]["interval"]
        assert low < rise.get(quantity, 0.0) < high


def test_a_plateau_may_follow_a_fall(tmp_path):
    """An accuracy that falls until T = 100 and is flat from there on plateaus, and has a trend."""
    planted(tmp_path, {})
    trials = read(tmp_path / "trials.parquet")
    fall = 0.1 * np.maximum(0, 100 - trials["T"]) / 80
    for name in ("validation_accuracy", "holdout_accuracy", "holdout_accuracy_last"):
        trials[name] = trials[name] + fall
    write(tmp_path / "trials.parquet", trials)
    flat = EXPERIMENT.analyse(EXPERIMENT.config("paper"), tmp_path)[2]
    assert flat.verdict == "reproduced" and not flat.numbers["trend"]["leaky"]["equivalent"]
    assert flat.readings[0].chosen.startswith("T ≥ 100") and flat.numbers["plateau"]["equivalent"]


def test_the_last_weights_are_an_extra_without_a_say(tmp_path):
    planted(tmp_path, {})
    trials = read(tmp_path / "trials.parquet")
    trials["l1_last"] = trials["l1_last"] * (1 + trials["T"] / 100)
    write(tmp_path / "trials.parquet", trials)
    norm = EXPERIMENT.analyse(EXPERIMENT.config("paper"), tmp_path)[0]
    outcomes = {one.choices["weights"]: (one.outcome, one.contrary) for one in norm.readings}
    assert outcomes["the last weights"] == ("fails", True)
    assert norm.verdict == "reproduced" and "90 % interval" in norm.observation


def test_much_noise_leaves_it_undecided(tmp_path):
    assert [one.verdict for one in planted(tmp_path, {}, noise=1.0)[:3]] == ["undecided"] * 3


def test_runs_that_did_not_fit_are_told(tmp_path):
    planted(tmp_path, {})
    trials = read(tmp_path / "trials.parquet")
    trials["train_accuracy_last"] = np.where(trials["T"] > 100, 0.9, 1.0)
    write(tmp_path / "trials.parquet", trials)
    finding = EXPERIMENT.analyse(EXPERIMENT.config("paper"), tmp_path)[3]
    assert finding.verdict == "refuted" and "25 of 50" in finding.observation
    assert [line["fitted"] for line in finding.numbers["by_T"]] == [5] * 5 + [0] * 5


def test_margins_are_of_the_whole_range_of_T():
    config, T = EXPERIMENT.config("paper"), np.repeat([20.0, 110.0, 200.0], 5)
    y = 100 + T / 180 * 9.0 + np.tile([-0.1, -0.05, 0.0, 0.05, 0.1], 3)
    line = trend(config, T, y, "l1")
    assert line["change"] == pytest.approx(9.0) and line["margin"] == pytest.approx(y.mean() / 10)
    assert line["equivalent"] and outcome(line, "l1") == "holds"
    assert not trend(config, T, y + T / 60, "l1")["equivalent"]


def test_norms_by_hand():
    model = MajorityClassifier(5, d=4, H=2, k=3, width=4)
    with torch.no_grad():
        for W in model.parameters():
            W.fill_(1.0)
        model.get_parameter("weights.3.W")[:, 0] = -2.0
    by_name = norms(model)
    assert by_name["W_QK_l11"] == pytest.approx(4 * 4 * 3 / math.sqrt(3))
    assert by_name["W_v_row1inf"] == by_name["W_v_col1inf"] == 4 * 3  # each head's W_v W_c is all 3
    assert by_name["w_l1"] == 4 * 3 and by_name["W_c_row1inf"] == 4
    assert by_name["W_Q_op"] == pytest.approx(math.sqrt(4 * 6))


def test_the_corollary_is_evaluated_at_these_norms():
    row = norms(MajorityClassifier(20)) | {"T": 20}
    bounds = corollary(row, 300, 64, 64)
    B = row["w_l1"] * row["W_c_row1inf"] * row["W_v_row1inf"]
    B_x, root = row["X_row2inf"], math.sqrt(300)
    a = B_x**2 * row["W_QK_l11"] * math.sqrt(2 * math.log(2 * 64**2 + 1))
    by_hand = B_x * a / root * (1 + math.log(root / a)) + B_x * math.sqrt(math.log(128)) / root
    assert bounds["printed"] == pytest.approx(2 * B * by_hand) and bounds["printed"] < 0
    assert bounds["best"] <= bounds["derived"] <= bounds["trivial"] * (1 + 1e-9)
    assert corollary(row, 10**12, 64, 64)["derived"] < bounds["derived"] / 10


def test_the_paper_scale_is_the_printed_protocol():
    config = EXPERIMENT.config("paper")
    task, how = config["protocol"]["task"], config["protocol"]["training"]
    assert task == {"name": "majority", "T": [*range(20, 201, 20)], "s": 9, "m": 300,
                    "holdout": 10_000}  # fmt: skip
    assert how["steps"] == 600_000 and how["evaluate_every"] == 3 and how["batch"] == 128
    assert how["schedule"] == {"name": "exponential", "factor": 0.999, "every": 3, "floor": 0.001}
    assert "unit" not in config["protocol"]["model"] and config["runs"] == 5

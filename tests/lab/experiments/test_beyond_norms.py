"""Norms: the smoke run stays in its balls, and a planted loss of accuracy is found."""

from __future__ import annotations

import numpy as np
import pytest

from beyond_cases import check_smoke, finding, study
from dudley.lab.experiments.beyond_norms.experiment import SCORES
from dudley.lab.shared.training_table import write


def test_smoke(smoke):
    findings, table = check_smoke(smoke("beyond-norms"))
    confined = np.isfinite(table["radius"])
    assert set(table["radius"]) == {0.5, 4.0, np.inf}
    for W, factor in {"0.W_QK": SCORES, "0.W_v": 1, "0.W_c": 1, "1.W": 1}.items():
        norms, radii = table[f"norms.{W}.l11"], factor * table["radius"]
        assert (norms[confined] <= radii[confined] * (1 + 1e-6)).all()
        assert norms[confined].max() > 0
    assert (table["norms.0.W_v.l11"][~confined] > 4.0).all()  # nothing held the free ones
    tight, loose = (table["gap_bound"][table["radius"] == r][0] for r in (0.5, 4.0))
    assert tight < loose
    assert finding(findings, "stays below").numbers["violations"] == 0


def test_the_radius_that_costs_accuracy_is_found(tmp_path):
    experiment = study("beyond-norms")
    config = experiment.config("laptop")
    radii = [*config["radii"], np.inf]
    source = np.random.default_rng(0)
    r = np.repeat(radii, 30)
    columns = {"radius": r, "m": np.full(len(r), 50_000)}
    columns["holdout"] = np.where(r < 3, 0.75, 0.98) + source.normal(0, 0.002, len(r))
    columns["train_bounded"] = np.where(r < 3, 0.7, 0.02)
    columns["gap_bound"] = np.minimum(0.3 + 0.05 * np.log2(np.minimum(r, 32) + 1), 1.0)
    columns["risk_bound"] = columns["train_bounded"] + columns["gap_bound"]
    ones = np.ones(len(r))
    columns |= {
        "train": ones,
        "gap": 0.01 * ones,
        "log10_needed_n": 5 * ones,
        "train_loss": 0 * ones,
    }
    write(tmp_path / "trials.parquet", columns)
    findings = experiment.analyse(config, tmp_path)
    assert finding(findings, "costs accuracy").numbers["kept"] == [x for x in radii[:-1] if x >= 3]
    best = finding(findings, "best guarantee").numbers["best"]
    assert best["radius"] == 3.0
    assert best["risk_bound"]["mean"] == pytest.approx(0.32 + 0.05 * 2)
    assert finding(findings, "costs accuracy").verdict == "confirmed"
    stuck = {name: np.where(r < 3, 0.7502, columns[name]) for name in ("train", "holdout")}
    write(tmp_path / "trials.parquet", columns | {"train": ones} | stuck)
    still = experiment.analyse(config, tmp_path)
    assert "below r = 3 no trial left the constant answer in 400" in still[0].observation
    constants = [row["constant"] for row in finding(still, "constant").numbers["dead"]]
    assert constants == [30 * (x < 3) for x in config["radii"]]
    assert "no trial left" not in findings[0].observation
    dead = np.arange(len(r)) % 30 == 0  # the first of every radius: equal logits
    tied = {"train": np.where(dead, 0.0, 1.0), "train_loss": np.where(dead, np.log(2), 0.0)}
    tied["holdout"] = np.where(dead, 0.0, columns["holdout"])
    write(tmp_path / "trials.parquet", columns | tied)
    again = experiment.analyse(config, tmp_path)
    counts = finding(again, "dead").numbers["dead"]
    assert [row["dead"] for row in counts] == [1] * len(config["radii"])
    accuracy = finding(again, "costs accuracy").numbers["cells"][-1]["holdout"]
    assert accuracy["mean"] > 0.97 and accuracy["trials"] == 29, "no accuracy of 0 is averaged"
    worse = np.where(np.isinf(r), columns["holdout"], 0.75)
    write(tmp_path / "trials.parquet", columns | {"holdout": worse})
    assert finding(experiment.analyse(config, tmp_path), "costs accuracy").numbers["kept"] == []


def test_readings_and_a_longer_training_at_scale_paper(tmp_path):
    experiment = study("beyond-norms")
    config = experiment.config("paper")
    r = np.repeat([*config["radii"], np.inf, 6.0], 40)
    steps = np.repeat([600.0] * 6 + [2400.0], 40)
    stuck = (r <= 6) & (steps == 600)  # the longer training leaves the constant answer
    noise = np.random.default_rng(0).normal(0, 0.001, len(r))
    ones = np.ones(len(r))
    columns = {"radius": r, "steps": steps, "m": np.full(len(r), 50_000), "gap": 0.01 * ones}
    columns |= {name: np.where(stuck, 0.75, 0.99) + noise for name in ("train", "holdout")}
    columns |= {"train_bounded": 0.1 * ones, "gap_bound": 0.2 + 0.01 * np.minimum(r, 32)}
    columns |= {"risk_bound": 0.5 * ones, "log10_needed_n": 5 * ones, "train_loss": 0 * ones}
    write(tmp_path / "trials.parquet", columns)
    findings = experiment.analyse(config, tmp_path)
    cost = finding(findings, "costs accuracy")
    assert cost.verdict.startswith("confirmed under") and cost.numbers["costs"] == [2, 4, 6]
    outcomes = {(o.choices["networks"], o.outcome) for o in cost.readings}
    assert outcomes == {("not dead", "holds"), ("all", "holds"), ("not constant", "undecided")}
    time = finding(findings, "four times as many steps")
    assert time.verdict == "confirmed"
    assert [row["constant"] for row in time.numbers["constants"]] == [40, 0]
    write(tmp_path / "trials.parquet", columns | {"holdout": np.where(r <= 6, 0.75, 0.99)}
          | {"train": np.where(r <= 6, 0.75, 0.99)})  # fmt: skip
    again = experiment.analyse(config, tmp_path)
    assert finding(again, "four times as many steps").verdict == "undecided"

"""Length: the smoke run, planted trends, and a bound that knows nothing of T."""

from __future__ import annotations

import numpy as np
import pytest

from beyond_cases import check_smoke, finding, study
from dudley.lab.experiments.beyond_length.arms import BALLS, FIXED, FREE, RADII, fill
from dudley.lab.shared.beyond_trained import in_words, trend
from dudley.lab.shared.training_table import read, write


def planted(folder, accuracy: float, price: float):
    source = np.random.default_rng(0)
    T = np.tile(np.repeat([25, 100, 400, 1600], 20), 2)
    rows = len(T)
    columns = {"task": ["and"] * (rows // 2) + ["majority"] * (rows // 2), "T": T}
    columns["holdout"] = 0.8 + accuracy * np.log10(T) + source.normal(0, 0.01, rows)
    columns["log10_needed_n"] = 5 + price * np.log10(T) + source.normal(0, 0.05, rows)
    ones = np.ones(rows)
    columns |= {"train": ones, "steps": ones, "gap": 0.1 * ones, "gap_bound": ones}
    write(folder / "trials.parquet", columns)
    lengths = [25, 100, 400, 1600]
    moved = {"trained": [5.0, 5.4, 5.9, 6.4], "fixed": [5.0] * 4}
    write(folder / "fixed_norms.parquet", {"T": lengths, **moved})
    experiment = study("beyond-length")
    return experiment.analyse(experiment.config("laptop"), folder)


@pytest.mark.slow
def test_smoke(smoke):
    results = smoke("beyond-length")
    findings, table = check_smoke(results)
    assert set(table["T"]) == {10, 40} and set(table["task"]) == {"majority"}
    assert set(table["arm"]) == {FREE, BALLS, FIXED}
    assert finding(findings, "lies in its declared balls").numbers["largest"] <= 1 + 1e-6
    assert finding(findings, "stays below").numbers["violations"] == 0
    fixed = read(results.folder / "fixed_norms.parquet")
    assert np.ptp(fixed["fixed"]) < 1e-3  # at fixed norms T does nothing
    assert fixed["trained"][1] > fixed["trained"][0] + 0.1  # unless positions are weights
    assert (fixed["trained"] > fixed["fixed"]).all()
    assert max(study("beyond-length").config("laptop")["parts"][0]["task"]["T"]) >= 1000


def test_planted_trends_are_found(tmp_path):
    findings = planted(tmp_path, accuracy=-0.05, price=0.3)
    line = finding(findings, "Sparse and: held-out").numbers["trend"]
    assert line["slope"] == pytest.approx(-0.05, abs=0.01) and line["told"] == "falls"
    low, high = finding(findings, "Sparse majority: the derived").numbers["trend"]["interval"]
    assert low < 0.3 < high


def test_a_line_that_does_not_fit_is_said_to_be_a_mean_slope():
    x = np.repeat([1.0, 2.0, 3.0, 4.0], 10)
    noise = 0.01 * np.random.default_rng(0).normal(size=40)
    straight, bent = (in_words(trend(x, y + noise, 0.1)) for y in (x, x**2))
    assert "mean slope of this range" in bent and "p roughly" in bent
    assert "mean slope" not in straight and "90 %, for equivalence: [+" in straight


def test_a_null_is_flat(tmp_path):
    findings = planted(tmp_path, accuracy=0.0, price=0.0)
    for words in ("Sparse and: held-out", "Sparse majority: the derived"):
        flat = finding(findings, words)
        assert flat.numbers["trend"]["equivalent"] and flat.verdict == "confirmed"
    below = finding(findings, "stays below")  # every bound is 1, which no gap of this loss exceeds
    assert below.verdict == "undecided" and below.numbers["telling"] == 0


def confined(folder, growth: float, still: float, norm: float = 0.4):
    """Three arms; the bound at declared radii grows by so much per decade of T."""
    source = np.random.default_rng(0)
    T = np.tile(np.repeat([16, 256, 4096], 20), 3)
    arms = np.repeat([FREE, BALLS, FIXED], 60)
    rate = np.where(arms == BALLS, growth, np.where(arms == FIXED, still, 0.3))
    noise = source.normal(0, 0.003, len(T))
    accuracy = np.where(arms == FIXED, 1.1 - 0.06 * np.log10(T), 0.95) + noise
    columns = {"task": ["and"] * len(T), "T": T, "arm": arms.tolist(), "holdout": accuracy}
    columns |= {"holdout_best": accuracy, "train_loss": np.zeros(len(T))}
    columns["log10_needed_n"] = 5 + rate * np.log10(T)
    other = np.where(np.arange(len(T)) % 20 < 10, columns["log10_needed_n"] + 0.1, np.nan)
    columns["log10_needed_n, margin 0.5"] = np.where(arms == FREE, other, 5.1 + rate * np.log10(T))
    ones = np.ones(len(T))
    columns |= {"train": ones, "steps": ones, "gap": 0.1 * ones, "gap_bound": ones}
    columns["norms.1.P.row2inf"] = norm * ones
    write(folder / "trials.parquet", columns)
    moved = {"trained": [5.0, 5.9, 6.4], "fixed": [5.0] * 3}
    write(folder / "fixed_norms.parquet", {"T": [16, 256, 4096], **moved})
    experiment = study("beyond-length")
    return experiment.analyse(experiment.config("paper"), folder)


def test_bounds_at_declared_radii_are_compared_over_T(tmp_path):
    findings = confined(tmp_path, growth=0.5, still=0.0)
    radii = finding(findings, "At declared radii")
    assert radii.verdict == "confirmed" and len(radii.numbers["bounds"]) == 12
    assert finding(findings, "lies in its declared balls").verdict == "confirmed"
    assert finding(findings, "balls with fixed positions: held-out").verdict == "refuted"
    assert finding(findings, "and: held-out").verdict == "confirmed"
    price = finding(findings, "derived bound at the trained norms")
    assert price.verdict == "refuted" and "2 readings (bound varied)" in price.observation
    for growth, still in ((0.5, 0.3), (0.0, 0.0)):
        assert finding(confined(tmp_path, growth, still), "At declared").verdict == "refuted"


def test_a_network_outside_its_balls_is_seen(tmp_path):
    outside = confined(tmp_path, growth=0.5, still=0.0, norm=RADII["P"][1] * 1.01)
    assert finding(outside, "lies in its declared balls").verdict == "refuted"
    row = {"norms.1.P.row2inf": 0.25, "norms.1.P.fro": 9.0, "norms.2.0.1.W_Q.fro": 1.0, "T": 4096}
    assert fill(row) == 0.5

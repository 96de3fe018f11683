"""Length: the smoke run, planted trends, and a bound that knows nothing of T."""

from __future__ import annotations

import numpy as np
import pytest

from beyond_cases import check_smoke, finding, study
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

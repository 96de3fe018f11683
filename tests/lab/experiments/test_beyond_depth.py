"""Depth: the smoke run, planted slopes, and a bound that is broken."""

from __future__ import annotations

import numpy as np
import pytest

from beyond_cases import check_smoke, finding, study
from dudley.lab.shared.training_table import write

CONFIG = study("beyond-depth").config("laptop")


def planted(folder, accuracy: float, price: float, gap: float = 0.1, config=CONFIG):
    source = np.random.default_rng(0)
    L = np.repeat([1, 2, 4], 40)
    columns = {"L": L, "m": np.full(len(L), 60), "train": np.ones(len(L))}
    columns["train_loss"] = np.zeros(len(L))
    columns["holdout"] = 0.9 + accuracy * np.log2(L) + source.normal(0, 0.005, len(L))
    columns["log10_needed_n"] = 5 + price * np.log2(L) + source.normal(0, 0.02, len(L))
    columns |= {"gap": np.full(len(L), gap), "gap_bound": np.full(len(L), 0.5)}
    write(folder / "trials.parquet", columns)
    return study("beyond-depth").analyse(config, folder)


@pytest.mark.slow
def test_smoke(smoke):
    findings, table = check_smoke(smoke("beyond-depth"))
    assert set(table["L"]) == {1, 2}
    assert finding(findings, "stays below").numbers["violations"] == 0
    for L in (1, 2):  # the union is paid for all weights: more of them for more layers
        assert np.isnan(table["norms.1.0.W_QK.op"][table["L"] == L].astype(float)).all() == (L == 1)


def test_a_planted_price_is_recovered(tmp_path):
    findings = planted(tmp_path, accuracy=0.0, price=0.4)
    low, high = finding(findings, "multiplies the examples").numbers["trend"]["interval"]
    assert low < 0.4 < high and high - low < 0.05
    flat = finding(findings, "does not depend on depth")
    assert flat.numbers["trend"]["equivalent"] and flat.verdict == "confirmed"


def test_a_planted_trend_of_accuracy_is_found(tmp_path):
    flat = finding(planted(tmp_path, 0.04, 0.4), "does not depend on depth")
    line = flat.numbers["trend"]
    assert flat.verdict == "refuted"
    assert line["slope"] == pytest.approx(0.04, abs=0.005)
    assert not line["equivalent"] and line["told"] == "grows"


def test_a_broken_bound_is_seen(tmp_path):
    findings = planted(tmp_path, 0.0, 0.4, gap=0.6)
    below = finding(findings, "stays below")
    assert below.numbers["violations"] == 120 and below.verdict == "refuted"
    assert finding(planted(tmp_path, 0.0, 0.4), "stays below").verdict == "confirmed"


def test_readings_give_the_answers_at_scale_paper(tmp_path):
    config = study("beyond-depth").config("paper")
    near, far = (planted(tmp_path, rate, 0.4, config=config) for rate in (0.0, 0.035))
    assert finding(near, "does not depend on depth").verdict == "confirmed"
    assert finding(far, "does not depend on depth").verdict == "depends on margin"
    assert finding(far, "multiplies the examples").verdict == "confirmed"
    assert "(margin, m varied)" in finding(far, "does not depend on depth").observation

"""Masked tokens: the smoke run, Theorem 5.1 by its own formula, and the best classifier."""

from __future__ import annotations

import math

import numpy as np
import pytest

from beyond_cases import check_smoke, finding, study
from dudley.calculus.union import Grid
from dudley.lab.experiments.beyond_masked.experiment import _inputs, best_accuracy, theorem
from dudley.lab.shared.beyond_bounds import SLACK
from dudley.lab.shared.training_table import read, write
from dudley.theorems.registry import evaluate

NAMES = ["norms.0.W_QK.l11", "norms.1.W.col1inf"]
NAMES += [f"norms.0.{W}.{norm}" for W in ("W_v", "W_c") for norm in ("row1inf", "col1inf")]
ROW = {name: 1.0 + i for i, name in enumerate(NAMES)}


def test_smoke(smoke):
    findings, table = check_smoke(smoke("beyond-masked"))
    assert set(table["V"]) == {3, 4}
    assert (table["theorem_gap"] >= table["gap"]).all()
    assert (table["theorem_derived"] > 0).all()
    laws = finding(findings, "√V").numbers["laws"]
    assert laws["printed"]["exponent"] == pytest.approx(0.5, abs=1e-3)
    assert 0 < laws["derived"]["exponent"] < 0.5
    assert (
        laws["printed"]["goodness"]["statistic"] < 1e-9 < laws["derived"]["goodness"]["statistic"]
    )
    over_T = finding(findings, "length of the sequence").numbers["derived"]
    assert max(over_T) == pytest.approx(min(over_T), rel=1e-9)


def test_a_broken_theorem_is_seen(smoke, tmp_path):
    results = smoke.copy("beyond-masked", tmp_path)
    table = read(tmp_path / "trials.parquet")
    write(tmp_path / "trials.parquet", table | {"gap": 5.0 + 0 * table["gap"]})
    again = study("beyond-masked").analyse(results.config, tmp_path)
    assert finding(again, "stays below").numbers["theorem"]["violations"] == len(table["gap"])


def test_the_theorem_pays_for_every_norm():
    values, nats = _inputs(ROW)
    prices = {name: Grid().round_up(SLACK * value) for name, value in ROW.items()}
    assert nats == pytest.approx(sum(price for _, price in prices.values()))
    assert values["w.l1"] == prices["norms.1.W.col1inf"][0] >= ROW["norms.1.W.col1inf"]
    task, model = {"m": 10**7, "T": 8, "V": 4}, {"V": 5, "k": 16}
    columns = theorem(ROW, task, model, 0.05, 4.0)
    sizes = {"n": 10**7, "T": 8, "V": 4, "d": 13, "k": 16, "loss.range": 4.0}
    rad = float(evaluate("trauger2024/theorem-5.1", sizes | values).value)
    assert columns["theorem_derived"] == rad
    drift = 4 * math.sqrt((math.log(1 / 0.05) + nats) / (2 * 10**7))
    assert columns["theorem_gap"] == pytest.approx(2 * rad + drift) and columns["theorem_gap"] < 4


def test_the_best_classifier_knows_the_rule():
    def config(**task):
        sizes = {"name": "masked-tokens", "V": 4, "T": 6, "lag": 2, "m": 10, **task}
        return {"config": {"task": sizes, "model": {}, "trial": 0, "seed": 0}}

    assert best_accuracy(config()) == 1.0
    chance = best_accuracy(config(noise=1.0), count=4000)
    assert abs(chance - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 4000)
    assert chance < best_accuracy(config(noise=0.05)) < 1

"""Sparse parity: planted drops are found, slow declines are not abrupt."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import numpy as np
import pytest

from dudley.lab.conduct import analyse
from dudley.lab.experiment import EXPERIMENTS
from dudley.lab.experiments.edelman2021_parity import experiment as edelman2021_parity  # noqa: F401
from dudley.lab.shared.training_table import write

CHECKS = 500


def curve(drop: int | None, takes: int = 3) -> np.ndarray:
    """The plateau, then a straight way down that ends at check number ``drop``."""
    loss = np.full(CHECKS, log(2), np.float32)
    if drop is not None:
        loss[drop - takes : drop] = np.linspace(log(2), 0.05, takes + 1)[1:]
        loss[drop:] = 1e-4
    return loss


def tables(folder: Path, drops: dict[int, list[int | None]], takes: int = 3) -> dict:
    config = EXPERIMENTS["edelman2021-parity"].config("paper")
    for part, lengths in (("printed", (10, 15, 20)), ("scan", (25, 30, 40, 50))):
        rows = [(T, i, curve(d, takes)) for T in lengths for i, d in enumerate(drops.get(T, []))]
        T, trial, loss = zip(*rows, strict=True)
        write(folder / f"{part}.parquet", {"T": T, "trial": trial, "loss": list(loss)})
    return config


DROPS = {
    10: [20, 30, 40, 50, 60, 70, 80, 90, 100, 110],
    15: [100] * 10, 20: [300] * 4 + [None] * 6, 25: [90, 400] + [None] * 8,
    **{T: [None] * 10 for T in (30, 40, 50)},
}  # fmt: skip


def test_planted_drops_are_found_and_those_still_waiting_are_censored(tmp_path: Path):
    config = tables(tmp_path, DROPS)
    abrupt, learnt, stops, waits = analyse("edelman2021-parity", config, tmp_path, "paper")
    assert abrupt.verdict == "depends on what abrupt is, how many curves"
    most = [one.outcome for one in abrupt.readings if "most curves" in one.chosen]
    assert most == ["holds"] * 4, "a tenth of few steps is less than one of them takes"
    assert learnt.verdict == "reproduced under one seed learns; one seed has learnt at the end"
    assert [law["shape"] for law in waits.numbers["laws"]] == ["Weibull", "log-normal"]
    assert waits.numbers["censored"] == 44 and waits.kind == "question"
    first, _, third = learnt.numbers["lengths"]
    assert (first["learnt"], third["learnt"]) == (10, 4)
    assert first["median"] == 20 * 60 and third["median"] is None
    assert third["interval"][0] < 0.4 < third["interval"][1]
    assert stops.numbers["longest"] == 25 and "T = 30, 40, 50" in stops.observation
    assert (
        "not tried" not in stops.observation
        and "it is 25 (1 of 10 seeds [0.00, 0.45])" in stops.observation
    )
    fourth = stops.numbers["lengths"][3]  # a check of the scan is 100 steps
    assert (fourth["steps"], fourth["times"]) == (50_000, [9000, 40_000])
    assert "within 50,000 steps: T = 25: 2 of 10" in stops.observation
    assert [row["step"] for row in abrupt.numbers["drops"][:2]] == [400, 600]


def test_learning_later_than_the_paper_trained_is_told_apart(tmp_path: Path):
    late = DROPS | {50: [None] * 9 + [101]}  # at step 10,100
    stops = analyse("edelman2021-parity", tables(tmp_path, late), tmp_path, "paper")[2]
    assert stops.numbers["longest"] == 50 and "T > 50 was not tried" in stops.observation
    assert stops.numbers["longest_early"] == 25 and "none does at T = 30, 40" in stops.observation
    assert stops.numbers["lengths"][-1]["learnt"] == 1


def test_a_slow_decline_is_not_abrupt(tmp_path: Path):
    config = tables(tmp_path, DROPS | {T: [200] * 10 for T in (10, 15, 20, 25)}, takes=150)
    slow = analyse("edelman2021-parity", config, tmp_path, "paper")[0]
    assert slow.verdict == "not reproduced under any reading tried"


def test_nothing_learnt_is_said(tmp_path: Path):
    config = tables(tmp_path, {T: [None] * 10 for T in DROPS})
    abrupt, learnt, stops, _ = analyse("edelman2021-parity", config, tmp_path, "paper")
    assert abrupt.verdict == "undecided"
    assert learnt.verdict == "not reproduced under any reading tried"
    assert stops.numbers["longest"] is None and "makes, no seed learns" in stops.observation


@pytest.mark.slow
def test_smoke_learns_something(smoke):
    findings = smoke("edelman2021-parity").findings
    assert len(findings) == 4 and findings[1].numbers["lengths"][0]["learnt"] > 0
    json.dumps([f.as_json() for f in findings], allow_nan=False)

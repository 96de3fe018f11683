"""The committed record of what runner and store cost beside the bare engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RECORD = Path(__file__).parents[3] / "results/grid/overhead.json"
RUNS = json.loads(RECORD.read_text(encoding="utf-8"))["runs"]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["on"].partition("?")[0])
def test_runner_and_store_cost_less_than_the_twentieth_part(run: dict):
    assert run["bare"]["cpu_seconds"] >= 60 and run["run"]["cpu_seconds"] >= 60
    assert 0 < run["spent"]["cpu_overhead"] < 0.05
    spent, bare = run["spent"], run["bare"]["cpu_seconds"]
    total = spent["cpu_seconds_in_calls"] + spent["cpu_seconds_outside_work"]
    assert spent["cpu_overhead"] == pytest.approx(total / bare)
    assert spent["cpu_microseconds_per_cell"] == pytest.approx(1e6 * total / run["cells"])


def test_both_runners_are_on_record():
    assert [run["on"].partition("?")[0] for run in RUNS] == ["local", "ray"]

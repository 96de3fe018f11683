"""The record of pick-to-learn: numbers follow from counts, and keep limits set before."""

from __future__ import annotations

import json
from pathlib import Path

from dudley.certificates.methods.pick_to_learn.bound import risk_upper
from dudley.certificates.price import Bill

RECORD = Path(__file__).parents[2] / "results/certificates/picks.json"
LIMITS = {"and": 0.0003, "majority": 0.0007}


def test_every_row_follows_from_its_counts_and_keeps_its_limit():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    tasks = [row["recipe"]["task"] for row in record["rows"]]
    assert {task: tasks.count(task) for task in LIMITS} == {"and": 3, "majority": 3}
    for row in record["rows"]:
        k = row["picks"] + row["failures"]
        assert row["value"] == risk_upper(k, row["N"], Bill(record["delta"]).log_confidence), row[
            "seed"
        ]
        assert row["fresh_errors"] / 100_000 <= row["value"] <= LIMITS[row["recipe"]["task"]]

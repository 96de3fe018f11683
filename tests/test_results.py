"""Committed records are whole: each output has the hash that its provenance states."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).resolve().parents[1] / "results"
RECORDS = sorted(RESULTS.glob("*/provenance.json"))


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_a_record_is_what_its_provenance_says(path: Path):
    told = read(path)
    assert {"command", "config", "config_sha256", "src_sha256", "machine", "precision"} <= set(told)
    config = json.dumps(told["config"], sort_keys=True).encode()
    assert hashlib.sha256(config).hexdigest() == told["config_sha256"]
    assert told["outputs"]
    for name, digest in told["outputs"].items():
        assert hashlib.sha256((path.parent / name).read_bytes()).hexdigest() == digest


def test_one_batch_on_the_gpu_is_twenty_times_the_loop():
    record = read(RESULTS / "gpu-ascent/ascent.json")
    assert record["ratio_loop_over_batch"] >= 20
    assert record["values"]["largest_relative_difference"] < 1e-9
    wanted = {"d": 64, "n": 1000, "draws": 32, "restarts": 8}
    assert wanted.items() <= record["config"].items()


def test_certified_norms_on_the_gpu_hold_and_are_faster():
    record = read(RESULTS / "gpu-measure/measure.json")
    assert record["all_certified"] and record["least_ratio"] >= 2
    assert all(case["contained"] for case in record["exact"].values())
    assert all(case["intervals_meet"] for case in record["agreement"].values())


def test_a_checkpoint_measured_on_the_gpu_is_the_one_measured_on_the_cpu():
    record = read(RESULTS / "gpu-checkpoint/checkpoint.json")
    assert record["same_numbers"] and record["largest_relative_difference"] < 1e-9


def test_there_are_records():
    assert len(RECORDS) >= 3

"""``dudley certify outcomes --log``: a tool's log is certified, and verified, as it is."""

from __future__ import annotations

import json
from pathlib import Path

import dudley as du
from certificates.test_outcome_logs import inspect_file, inspect_sample, lines, lm_eval_line


def test_a_certificate_of_a_log_is_verified_from_the_log(dudley, tmp_path: Path):
    path = lines(
        tmp_path / "samples.jsonl",
        *(lm_eval_line(i, acc=float(i % 50 > 0), acc_norm=1.0) for i in range(300)),
    )
    out = tmp_path / "c.json"
    words = ("certify", "outcomes", path, "--log", "lm-eval", "--out", out)
    assert "metric, one of: acc, acc_norm" in dudley(*words).refused()
    made = dudley(*words, "--log-option", "metric=acc")
    assert made.code == 0
    expected = du.outcomes(du.read_outcomes(path, "lm-eval", metric="acc"))
    claimed = json.loads(out.read_text())
    assert claimed["value"] == expected.to_json()["value"] and expected.facts.errors == 6
    assert dudley("verify", out, "--data", path).code == 0
    claimed["declared"]["log"]["metric"] = "acc_norm"
    out.write_text(json.dumps(claimed))
    assert dudley("verify", out, "--data", path).code == 1
    claimed["declared"]["log"] = {"tool": "lm-eval", "path": "elsewhere"}
    out.write_text(json.dumps(claimed))
    assert dudley("verify", out, "--data", path).code == 1


def test_epochs_of_a_log_are_units(dudley, tmp_path: Path):
    samples = [inspect_sample(i, "C" if i else "I", epoch) for i in range(60) for epoch in (1, 2)]
    path, out = inspect_file(tmp_path / "log.json", *samples), tmp_path / "c.json"
    words = ("certify", "outcomes", path, "--log", "inspect", "--out", out)
    assert "60 of them different" in dudley(*words).refused()
    assert dudley(*words, "--unit", "id", "--unit-way", "first", "--seed", "7").code == 0
    claimed = json.loads(out.read_text())
    assert (claimed["facts"]["n"], claimed["facts"]["errors"]) == (60, 1)
    assert dudley("verify", out, "--data", path).code == 0
    assert "a table alone" in dudley(*words, "--group", "site").refused()

"""Variants: the smoke run, and variants that are planted to be better, worse or the same."""

from __future__ import annotations

import numpy as np
import pytest

from beyond_cases import check_smoke, finding, study
from dudley.lab.experiments.beyond_variants.experiment import VARIANTS
from dudley.lab.shared.training_table import write


@pytest.mark.slow
def test_smoke(smoke):
    findings, table = check_smoke(smoke("beyond-variants"))
    assert set(table["variant"]) == set(VARIANTS) and len(VARIANTS) == 9
    assert finding(findings, "stays below").numbers["violations"] == 0
    # All variants meet the same law of data, and none has another's weights.
    assert len(set(table["norms.0.0.W_Q.fro"])) == len(table["trial"])


def test_planted_differences(tmp_path):
    source = np.random.default_rng(0)
    names = [name for name in VARIANTS for _ in range(30)]
    lift = {"tanh": -0.1, "sigmoid": 0.05}
    columns = {
        "variant": names,
        "holdout": [0.9 + lift.get(name, 0.0) + source.normal(0, 0.005) for name in names],
        "log10_needed_n": [5 + source.normal(0, 0.01) for _ in names],
    }
    same = np.ones(len(names))
    columns |= {"train": same, "steps": same, "gap": 0.1 * same, "gap_bound": same}
    columns["train_loss"] = 0 * same
    write(tmp_path / "trials.parquet", columns)
    experiment = study("beyond-variants")
    findings = experiment.analyse(experiment.config("laptop"), tmp_path)
    assert finding(findings, "Held-out accuracy").verdict == "refuted"
    parts = finding(findings, "Held-out accuracy").observation.split("; ")
    verdicts = {word.split()[0]: word.split()[-1] for word in parts}
    assert verdicts == {
        "gelu": "same", "tanh": "below", "identity": "same", "sigmoid": "above",
        "sparsemax": "same", "linear": "same", "glorot": "same", "small": "same",
    }  # fmt: skip
    several = experiment.analyse(experiment.config("paper"), tmp_path)
    assert finding(several, "Held-out accuracy").verdict == "refuted"
    assert "2 readings (margin varied): 2 refute it" in several[0].observation
    rows = finding(findings, "Held-out accuracy").numbers["differences"]
    for row in rows:
        low, high = row["holdout"]["interval"]
        assert low < lift.get(row["variant"], 0.0) < high

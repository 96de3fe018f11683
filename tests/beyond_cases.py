"""What every study beyond the papers owes: a smoke run with findings, and tables to be planted."""

from __future__ import annotations

import importlib
import json

import numpy as np

from dudley.lab.experiment import EXPERIMENTS, SCALES, Finding
from dudley.lab.finding import SMOKE
from dudley.lab.pages.results import Results
from dudley.lab.shared.training_table import read


def study(name: str):
    importlib.import_module(f"dudley.lab.experiments.{name.replace('-', '_')}")
    return EXPERIMENTS[name]


def check_smoke(results: Results) -> tuple[list[Finding], dict[str, np.ndarray]]:
    """The findings of a smoke run, and its table of trials."""
    experiment = study(results.name)
    for scale in SCALES:
        json.dumps(experiment.config(scale))
        assert experiment.config(scale) == experiment.config(scale)
    findings, table = results.findings, read(results.folder / "trials.parquet")
    assert findings and all(finding.verdict == SMOKE for finding in findings)
    assert all(finding.kind != "claim" for finding in findings), "no paper is answerable for these"
    config = experiment.config("smoke")
    cells = sum(
        np.prod([len(v) for v in part["task"].values() if isinstance(v, list)], dtype=int)
        for part in config["parts"]
    )
    assert len(table["trial"]) == cells * config["trials"]
    assert np.isfinite(table["gap_bound"]).all() and (table["gap_bound"] > 0).all()
    assert ((table["holdout"] >= 0) & (table["holdout"] <= 1)).all()
    return findings, table


def finding(findings: list[Finding], words: str) -> Finding:
    """The one whose claim has these words."""
    matching = [one for one in findings if words in one.claim]
    assert len(matching) == 1, [one.claim for one in findings]
    return matching[0]

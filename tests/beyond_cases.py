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


def check_smoke(held: Results) -> tuple[list[Finding], dict[str, np.ndarray]]:
    """The findings of a smoke run, and its table of trials."""
    one = study(held.name)
    for scale in SCALES:
        json.dumps(one.config(scale))
        assert one.config(scale) == one.config(scale)
    found, table = held.findings, read(held.folder / "trials.parquet")
    assert found and all(finding.verdict == SMOKE for finding in found)
    assert all(finding.kind != "claim" for finding in found), "no paper is answerable for these"
    config = one.config("smoke")
    cells = sum(
        np.prod([len(v) for v in part["task"].values() if isinstance(v, list)], dtype=int)
        for part in config["parts"]
    )
    assert len(table["trial"]) == cells * config["trials"]
    assert np.isfinite(table["gap_bound"]).all() and (table["gap_bound"] > 0).all()
    assert ((table["holdout"] >= 0) & (table["holdout"] <= 1)).all()
    return found, table


def finding(found: list[Finding], words: str) -> Finding:
    """The one whose claim has these words."""
    matching = [one for one in found if words in one.claim]
    assert len(matching) == 1, [one.claim for one in found]
    return matching[0]

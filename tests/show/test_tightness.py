"""The record behind docs/tightness.md is of this code, and the page tells what it holds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from dudley.audit.base import all_attacks
from dudley.audit.judge import Judgement, Outcome, by_attack
from dudley.show.generated import tightness
from dudley.theorems import registry
from each import each

ROWS = tightness.load(Path(__file__).resolve().parents[2] / "results/audit/tightness.json")
AGAIN = "run make tightness"


def test_every_form_of_ours_is_in_the_record():
    listed = {(row.statement, row.form) for row in ROWS}
    ours = {(id, form) for id, s in registry.load().items() for form in s.forms} - {
        (id, "printed") for id in registry.load()
    }
    assert listed == ours, AGAIN


def test_every_attack_is_in_the_record():
    """But those that aim only at statements which no attack lists: none of ours."""
    listed = {name for name, attack in all_attacks().items() if attack.targets}
    assert {row.attack for row in ROWS} == listed, AGAIN


@each("row", ROWS, ids=lambda row: f"{row.statement}-{row.form}-{row.attack}")
def test_the_claims_are_those_of_this_code(row: Judgement):
    bound = registry.load()[row.statement].evaluate_on(row.inputs, row.form)
    claimed = math.inf if row.claimed is None else row.claimed
    assert bound.value == pytest.approx(claimed, rel=1e-9), AGAIN
    assert row.outcome is Outcome.STANDS
    assert claimed >= row.lower * (1 - 1e-12)


def test_an_instance_where_the_form_says_something_comes_first():
    row = ROWS[0]
    trivial = replace(row, ratio=1.0, vacuous=True)
    weak = replace(row, ratio=0.01, vacuous=False)
    strong = replace(weak, ratio=0.5)
    assert by_attack([trivial, weak, strong]) == [strong]
    assert tightness.smallest([trivial, strong]) == 2.0
    assert by_attack([replace(strong, form="printed")]) == []


def test_the_page_has_no_number_that_is_none():
    page = tightness.page(ROWS)
    assert "nan" not in page and "inf " not in page
    assert page.count("`li2026/theorem-5.3`") == 2

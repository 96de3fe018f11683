"""The record behind docs/tightness.md is of this code, and the page tells what it holds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from dudley.audit.base import all_attacks
from dudley.audit.judge import Judgement, Outcome, by_attack
from dudley.networks.files import EXAMPLES
from dudley.show.generated import gains, tightness
from dudley.theorems import registry
from each import each

RECORD = tightness.load(Path(__file__).resolve().parents[2] / "results/audit/tightness.json")
GAINS = gains.load(Path(__file__).parents[2] / "results/calculus/gains.json")
ROWS = RECORD.rows
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


@pytest.mark.slow
@each("row", ROWS, ids=lambda row: f"{row.statement}-{row.form}-{row.attack}")
def test_the_claims_are_those_of_this_code(row: Judgement):
    bound = registry.load()[row.statement].evaluate_on(row.inputs, row.form)
    claimed = math.inf if row.claimed is None else row.claimed
    assert bound.value == pytest.approx(claimed, rel=1e-9), AGAIN
    assert row.outcome is Outcome.STANDS
    assert claimed >= row.lower * (1 - 1e-12)


def test_an_instance_where_the_form_says_something_comes_first():
    row = ROWS[0]
    trivial = replace(row, reach=1.0, vacuous=True)
    weak = replace(row, reach=0.01, vacuous=False)
    strong = replace(weak, reach=0.5)
    assert by_attack([trivial, weak, strong]) == [strong]
    assert by_attack([replace(strong, form="printed")]) == []


def line(*rows: Judgement) -> tightness.FormLine:
    return tightness.FormLine("edelman2021/lemma-2.2", "derived", rows)


def test_only_attacks_on_the_term_in_question_count():
    row = next(row for row in ROWS if row.statement == "edelman2021/lemma-2.2")
    assert line().term == "complexity"
    elsewhere = replace(row, term="deviation", reach=1.0, vacuous=False, attack="a")
    silent = replace(row, term="complexity", reach=1.0, vacuous=True, attack="b")
    assert line(elsewhere, silent).factor == math.inf
    assert tightness.UNTESTED in line(elsewhere, silent).cells
    weak = replace(silent, vacuous=False, reach=0.01, attack="c")
    strong = replace(weak, reach=0.25, attack="d")
    tested = line(elsewhere, weak, silent, strong)
    assert tested.factor == 4 and tested.cells[3:5] == ["4", "d"]
    assert tested.rank < line(strong, replace(weak, reach=0.5)).rank  # the looser comes first
    assert "a 1 (deviation)" in tested.cells[-1] and "b 1 (trivial)" in tested.cells[-1]


def test_an_approximation_error_says_nothing_of_a_complexity():
    rows = tuple(r for r in ROWS if (r.statement, r.form) == ("li2026/theorem-5.3", "derived"))
    assert min(tightness.factor(r) for r in rows if not r.vacuous) < 4  # out of reach
    assert tightness.FormLine("li2026/theorem-5.3", "derived", rows).factor > 100


def test_every_shipped_network_is_in_the_record():
    shipped = {path.stem for path in EXAMPLES.glob("*.toml")}
    assert {row.network for row in RECORD.networks} == shipped, AGAIN
    for row in RECORD.networks:
        assert 0 < row.lower <= row.claimed, AGAIN


@pytest.mark.slow
def test_the_page_has_no_number_that_is_none():
    page = tightness.page(RECORD, GAINS).partition("## Gains")[0]
    assert "nan" not in page and "inf " not in page and " inf" not in page
    assert page.count("`li2026/theorem-5.3`") == 2 and page.count("`bert-base`") == 1

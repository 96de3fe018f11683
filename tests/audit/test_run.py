"""The run over the registries: judgement, journal, budget, exit codes."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dudley.audit import journal as journals
from dudley.audit import run as runs
from dudley.audit.base import ATTACKS, Attack, Finding
from dudley.audit.journal import Journal
from dudley.audit.judge import Outcome, Row, diverges, judge, strongest
from dudley.core.errors import DudleyError
from dudley.core.statement import Form
from dudley.theorems import registry
from dudley.witness.base import Family
from dudley.witness.lower import LowerBound

LINEAR = "trauger2024/lemma-3.6"
VALUES = {"d": 4, "k": 4, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.1}


def found(value: float, id: str = LINEAR) -> Finding:
    return Finding(id, VALUES, LowerBound(value, "a guess"))


def outcomes(rows: list[Row]) -> dict[str, Outcome]:
    return {row.form: row.outcome for row in rows}


def test_a_bound_above_the_truth_stands_and_one_below_is_broken():
    s = registry.load()[LINEAR]
    derived = s.evaluate_on(VALUES, "derived").value
    assert set(outcomes(judge("x", found(1e-9))).values()) == {Outcome.STANDS}
    above = outcomes(judge("x", found(1.001 * derived)))
    assert above["derived"] is Outcome.BROKEN
    printed = s.evaluate_on(VALUES, "printed").value
    assert outcomes(judge("x", found(1.001 * printed)))["printed"] is Outcome.REFUTED


def test_an_exact_bound_is_not_broken_by_rounding():
    derived = registry.load()[LINEAR].evaluate_on(VALUES, "derived").value
    rows = outcomes(judge("x", found(derived * (1 + 1e-14))))
    assert rows["derived"] is Outcome.STANDS


def test_the_strongest_attack_is_kept_and_a_false_verdict_must_be_reproduced():
    id = "trauger2024/lemma-3.1"
    inputs = registry.load()[id].example
    weak = [
        row for v in (1e-9, 2e-9) for row in judge(str(v), Finding(id, inputs, LowerBound(v, "")))
    ]
    table = {row.form: row for row in strongest(weak)}
    assert table["printed"].outcome is Outcome.NOT_REPRODUCED
    assert table["derived"].attack == "2e-09"
    report = runs.Report(rows=weak)
    assert report.exit_code == 1


@pytest.mark.parametrize(
    "printed, expected", [([1, 1, 1], True), ([1, 2, 4], False), ([1, 1.01, 1.02], True)]
)
def test_a_hidden_constant_is_refuted_by_divergence_only(printed, expected):
    assert diverges(Family([1, 10, 100], [1, 2, 4], printed)) is expected
    assert not diverges(None)


def test_every_false_verdict_is_reproduced_and_nothing_of_ours_is_broken():
    """The quick set, in this process: what `dudley audit` does."""
    report = runs.run(jobs=1)
    table = report.table
    assert report.exit_code == 0
    refuted = {row.statement for row in table if row.outcome is Outcome.REFUTED}
    false = {id for id, s in registry.load().items() if s.verdict.value == "false"}
    assert false <= refuted
    assert not [row for row in table if row.outcome is Outcome.BROKEN]


def test_a_planted_error_in_a_derived_form_is_found(monkeypatch):
    """A derived form without its main factor: the audit exits with 1."""
    statements = registry.load()
    s = statements["trauger2024/lemma-3.5"]
    wrong = replace(s, derived=Form(s.derived.latex, lambda **_: 1.0))
    monkeypatch.setitem(statements._units, s.id, wrong)
    report = runs.run([s.id], jobs=1)
    assert report.exit_code == 1
    assert any(row.outcome is Outcome.BROKEN for row in report.table)


def test_the_journal_is_resumed_and_a_torn_line_is_no_line(tmp_path, monkeypatch):
    path, ids = tmp_path / "audit.jsonl", ["trauger2024/lemma-3.5"]
    first = runs.run(ids, jobs=1, journal=path)
    with path.open("a") as file:
        file.write('{"code": "torn')
    monkeypatch.setattr(runs, "execute", lambda *_: pytest.fail("it was run again"))
    assert runs.run(ids, jobs=1, journal=path).table == first.table
    monkeypatch.undo()
    runs.run(["trauger2024/lemma-3.1"], jobs=1, journal=path)
    lines = path.read_text().splitlines()
    assert json.loads(lines[-1])["attack"] == "witness maurey-slip"


def test_a_journal_of_another_seed_or_code_does_not_count(tmp_path, monkeypatch):
    path, ids = tmp_path / "audit.jsonl", ["trauger2024/lemma-3.5"]
    runs.run(ids, jobs=1, journal=path)
    assert Journal(path, 0).read() and not Journal(path, 1).read()
    monkeypatch.setattr(journals, "code_digest", lambda: "other")
    assert not Journal(path, 0).read()


class Slow(Attack):
    """Takes longer than any budget of a test."""

    targets = (LINEAR,)
    quick = False

    def run(self, rng):
        yield found(float(rng.uniform(0, 1e-6)))


@pytest.fixture
def slow():
    runs.load()
    ATTACKS.register("slow")(Slow)
    yield
    del ATTACKS._units["slow"]


def test_slow_attacks_belong_to_the_full_set(slow):
    assert "slow" not in runs.chosen([LINEAR], full=False)
    assert runs.chosen([LINEAR], full=True)[-1] == "slow"


def test_a_spent_budget_leaves_attacks_undone(slow):
    report = runs.run([LINEAR], full=True, budget=0.0, jobs=1)
    assert "slow" in report.undone and report.exit_code == 3


def test_the_same_seed_finds_the_same(slow):
    one, two, three = (runs.run([LINEAR], full=True, seed=s, jobs=1).rows for s in (5, 5, 6))
    assert one == two != three


def test_an_unknown_statement_is_refused():
    with pytest.raises(DudleyError, match=r"did you mean trauger2024/lemma-3\.5"):
        runs.chosen(["trauger2024/lemma-3.55"], full=False)


def test_rows_survive_json():
    for row in judge("x", found(1.0)):
        again = Row.from_json(json.loads(json.dumps(row.to_json(), allow_nan=False)))
        assert again == row
        assert math.isfinite(again.lower)


def test_lower_bounds_refuse_what_is_no_number():
    for value in (math.nan, math.inf):
        with pytest.raises(DudleyError):
            LowerBound(value, "")
    with pytest.raises(DudleyError):
        LowerBound(1.0, "", δ=np.nan)

"""The run over the registries: judgement, journal, budget, exit codes."""

from __future__ import annotations

import json
import math
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

import numpy as np
import pytest

import planted
from dudley.audit import journal as journals, judge as judges, run as runs
from dudley.audit.base import ATTACKS, Attack, AttackFinding, all_attacks
from dudley.audit.journal import Journal
from dudley.audit.judge import Judgement, Outcome, diverges, judge, strongest
from dudley.core.errors import DudleyError, InputError
from dudley.core.statement import Form
from dudley.theorems import registry
from dudley.theorems.witness.base import Family
from dudley.theorems.witness.lower import LowerBound

LINEAR = "trauger2024/lemma-3.6"
VALUES = {"d": 4, "k": 4, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.1}


def finding_of(value: float, id: str = LINEAR) -> AttackFinding:
    return AttackFinding(id, VALUES, LowerBound(value, "a guess"))


def outcomes(rows: list[Judgement]) -> dict[str, Outcome]:
    return {row.form: row.outcome for row in rows}


def test_a_bound_above_the_truth_stands_and_one_below_is_broken():
    s = registry.load()[LINEAR]
    derived = s.evaluate_on(VALUES, "derived").value
    assert set(outcomes(judge("x", finding_of(1e-9))).values()) == {Outcome.STANDS}
    above = outcomes(judge("x", finding_of(1.001 * derived)))
    assert above["derived"] is Outcome.BROKEN
    printed = s.evaluate_on(VALUES, "printed").value
    assert outcomes(judge("x", finding_of(1.001 * printed)))["printed"] is Outcome.REFUTED


@pytest.mark.parametrize("id", ["li2026/assumption-5.1", "trauger2024/definition-2.6"])
def test_what_claims_nothing_is_violated_and_never_refuted(id):
    s = registry.load()[id]
    above = 2 * s.evaluate_on(s.example, "printed").value
    rows = outcomes(judge("x", AttackFinding(id, s.example, LowerBound(above, ""))))
    assert rows["printed"] is Outcome.VIOLATED


def test_an_exact_bound_is_not_broken_by_rounding():
    derived = registry.load()[LINEAR].evaluate_on(VALUES, "derived").value
    rows = outcomes(judge("x", finding_of(derived * (1 + 1e-14))))
    assert rows["derived"] is Outcome.STANDS


def test_the_strongest_attack_is_kept_and_a_false_verdict_must_be_reproduced():
    id = "trauger2024/lemma-3.1"
    inputs = registry.load()[id].example
    weak = [
        row
        for v in (1e-9, 2e-9)
        for row in judge(str(v), AttackFinding(id, inputs, LowerBound(v, "")))
    ]
    table = {row.form: row for row in strongest(weak)}
    assert table["printed"].outcome is Outcome.NOT_REPRODUCED
    assert table["derived"].attack == "2e-09"
    report = runs.Report(rows=weak, expected=[id])
    assert report.exit_code == 1 and report.not_reproduced == [id]
    assert runs.Report(expected=[id]).exit_code == 1  # no attack said anything of it


@pytest.mark.parametrize(
    "printed, expected", [([1, 1, 1], True), ([1, 2, 4], False), ([1, 1.01, 1.02], True)]
)
def test_a_hidden_constant_is_refuted_by_divergence_only(printed, expected):
    assert diverges(Family([1, 10, 100], [1, 2, 4], printed)) is expected
    assert not diverges(None)


@pytest.mark.slow  # every quick attack, one after the other
def test_every_false_verdict_is_reproduced_and_nothing_of_ours_is_broken():
    """The quick set, in this process: what `dudley audit` does."""
    report = runs.run(jobs=1)
    table = report.table
    assert report.exit_code == 0
    refuted = {row.statement for row in table if row.outcome is Outcome.REFUTED}
    false = {id for id, s in registry.load().items() if s.verdict.is_false}
    assert false <= refuted
    assert not [row for row in report.rows if row.outcome is Outcome.BROKEN]
    sound = [row for row in report.rows if registry.load()[row.statement].verdict.stands]
    assert not [row for row in sound if row.outcome is Outcome.REFUTED]
    attacked = {(row.attack, row.statement) for row in report.rows}
    for name in runs.chosen([], full=False):
        assert {id for attack, id in attacked if attack == name} == set(all_attacks()[name].targets)
    every_fifth = runs.chosen([], full=False)[::5]  # all of them: test_coverage.py, slow
    reported = [
        (r.attack, r.statement, r.lower, r.inputs)
        for r in report.rows
        if r.form == "printed" and r.attack in every_fifth
    ]
    again = {n: planted.findings(n) for n in every_fifth}
    assert reported == [
        (n, f.statement, f.lower.value, f.inputs) for n, found in again.items() for f in found
    ]  # the same seed finds the same


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
        yield finding_of(float(rng.uniform(0, 1e-6)))


@pytest.fixture
def slow():
    ATTACKS.register("slow")(Slow)
    yield
    ATTACKS.remove("slow")


def test_slow_attacks_belong_to_the_full_set(slow):
    assert "slow" not in runs.chosen([LINEAR], full=False)
    assert runs.chosen([LINEAR], full=True)[-1] == "slow"


def test_a_spent_budget_leaves_attacks_undone(slow):
    report = runs.run([LINEAR], full=True, budget=0.0, jobs=1)
    assert "slow" in report.undone and report.exit_code == 3


def test_the_same_seed_finds_the_same(slow):
    first, again, other = (runs.run([LINEAR], full=True, seed=s, jobs=1).rows for s in (5, 5, 6))
    assert first == again != other


def test_an_unknown_statement_is_refused():
    with pytest.raises(DudleyError, match=r"did you mean trauger2024/lemma-3\.5"):
        runs.chosen(["trauger2024/lemma-3.55"], full=False)


def test_rows_survive_json():
    for row in judge("x", finding_of(1.0)):
        again = Judgement.from_json(json.loads(json.dumps(row.to_json(), allow_nan=False)))
        assert again == row
        assert math.isfinite(again.lower)


def test_lower_bounds_refuse_what_is_no_number():
    for value in (math.nan, math.inf):
        with pytest.raises(DudleyError):
            LowerBound(value, "")
    with pytest.raises(DudleyError):
        LowerBound(1.0, "", δ=np.nan)


class Failing(Attack):
    """Ends in an error that does not survive a pickle."""

    targets = (LINEAR,)
    quick = False

    def run(self, rng):
        raise InputError("an attack", "to end well", "this")


def test_an_attack_that_fails_is_named_and_nothing_stands_for_it(monkeypatch):
    monkeypatch.setitem(ATTACKS._units, "failing", Failing)
    with pytest.raises(runs.AttackFailed, match="attack failing failed, InputError: an attack"):
        runs.run([LINEAR], full=True, jobs=1)


def test_a_failure_in_a_worker_is_told_as_it_was():
    with pytest.raises(runs.AttackFailed, match="attack no such failed, UnknownName"):
        list(runs._execute_all(["no such"], 0, None, 2))


def test_a_worker_that_dies_is_no_silence(monkeypatch):
    class Dead(Future):
        def __init__(self, *_):
            super().__init__()
            self.set_exception(BrokenProcessPool("a process was terminated"))

    monkeypatch.setattr(runs.ProcessPoolExecutor, "submit", Dead)
    with pytest.raises(runs.AttackFailed, match="attack linear maps failed, its process ended"):
        list(runs._execute_all(["linear maps"], 0, None, 2))


def test_rows_come_in_one_order_whoever_ends_first(tmp_path, monkeypatch):
    ids, path = ["trauger2024/lemma-3.5"], tmp_path / "audit.jsonl"
    plain = runs.run(ids, jobs=1)
    real = runs._execute_all
    monkeypatch.setattr(runs, "_execute_all", lambda names, *how: real(names[::-1], *how))
    assert runs.run(ids, jobs=1, journal=path).rows == plain.rows
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0])  # the last attack of all is known, the others are run again
    assert runs.run(ids, jobs=1, journal=path).rows == plain.rows


def test_a_lower_bound_below_zero_breaks_nothing_that_equals_it():
    s = registry.load()[LINEAR]
    same = replace(s, derived=Form(s.derived.latex, lambda **_: -1.0))
    row = judges._row("x", finding_of(-1.0), same, "derived")
    assert row.claimed == row.lower == -1.0 and row.outcome is Outcome.STANDS
    assert judges._row("x", finding_of(-0.9), same, "derived").outcome is Outcome.BROKEN

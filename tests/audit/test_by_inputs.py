"""Attacks with an aim, turned on the published statements that they fit: nothing sound breaks."""

from __future__ import annotations

import numpy as np
import pytest

import planted
from dudley.audit.attacks import by_inputs
from dudley.audit.base import all_attacks
from dudley.audit.judge import Outcome, judge
from dudley.theorems import registry

AIMED = {name: attack for name, attack in all_attacks().items() if attack.aim is not None}
QUICK = [
    ("linear maps by their norms", "trauger2024/lemma-3.6"),
    ("linear maps by their norms", "trauger2024/lemma-3.5"),
    ("functionals by their norms", "edelman2021/definition-A.1"),
    ("heads by their norms", "trauger2024/corollary-4.1.1"),
    ("covers of heads by their norms", "li2026/equation-14"),
]


def rows(monkeypatch, name: str, id: str):
    monkeypatch.setattr(by_inputs, "reach", lambda attack: (id,))
    findings = AIMED[name]().run(np.random.default_rng(0))
    return [row for finding in findings for row in judge(name, finding)]


@pytest.mark.parametrize("name, id", QUICK)
def test_a_sound_statement_stands_and_one_divided_is_broken(monkeypatch, name, id):
    judged = rows(monkeypatch, name, id)
    assert {row.outcome for row in judged if row.form != "printed"} == {Outcome.STANDS}
    need = planted.factors(judged)["derived"]
    assert need < 20
    planted.plant(monkeypatch, id, "derived", 1.01 * need)
    assert planted.broken(rows(monkeypatch, name, id), "derived")


@pytest.mark.parametrize("name", AIMED)
def test_no_derived_form_that_fits_is_broken(monkeypatch, name):
    aim = AIMED[name].aim
    assert aim is not None
    for id in [id for id, s in registry.load().items() if aim.fits(s)]:
        for row in rows(monkeypatch, name, id):
            assert row.outcome is not Outcome.BROKEN
            verdict = registry.load()[row.statement].verdict
            assert not (verdict.stands and row.outcome is Outcome.REFUTED)

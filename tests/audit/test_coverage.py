"""Every statement is attacked, by something other than the witness of its printed form."""

from __future__ import annotations

import pytest

import planted
from dudley.audit import run as runs
from dudley.audit.judge import Outcome, judge
from dudley.core.statement import Verdict
from dudley.theorems import registry

QUICK = [n for n, a in runs.load().items() if a.quick and not n.startswith("witness ")]


def test_every_statement_has_an_attack_on_its_derived_form():
    attacked = {
        id for n, a in runs.load().items() if not n.startswith("witness ") for id in a.targets
    }
    assert attacked == set(registry.load())


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_quick_attack_finds_something_for_each_target_and_breaks_nothing(name):
    found = planted.findings(name)
    assert {finding.statement for finding in found} == set(runs.load()[name].targets)
    for finding in found:
        for row in judge(name, finding):
            assert row.outcome is not Outcome.BROKEN
            sound = row.verdict == Verdict.OK.value
            assert not (sound and row.outcome is Outcome.REFUTED)

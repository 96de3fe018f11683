"""Every statement is attacked, by something other than the witness of its printed form."""

from __future__ import annotations

import pytest

import planted
from dudley.audit.base import all_attacks
from dudley.theorems import registry

QUICK = [n for n, a in all_attacks().items() if a.quick and not n.startswith("witness ")]


def test_every_statement_has_an_attack_on_its_derived_form():
    attacked = {
        id for n, a in all_attacks().items() if not n.startswith("witness ") for id in a.targets
    }
    assert attacked == set(registry.load())


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_the_same_seed_finds_the_same(name):
    """What a quick attack finds is judged in test_run.py."""
    first, again = planted.findings(name), planted.findings.__wrapped__(name)
    assert [(f.statement, f.lower.value, f.inputs) for f in first] == [
        (f.statement, f.lower.value, f.inputs) for f in again
    ]

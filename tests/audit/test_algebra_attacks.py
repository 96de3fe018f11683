"""Attacks on allocations, atoms, tails and constructions: independent optima, and power."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import planted
from dudley.audit import run as runs
from dudley.audit.attacks.algebra import dual_of_split, least_of_split
from dudley.audit.attacks.tails import largest_of
from dudley.audit.judge import Outcome
from dudley.core.statement import Verdict
from dudley.theorems import registry

FAMILIES = ("algebra", "tails", "constructions")
POWER = {
    "edelman2021/lemma-A.8": 1.01,
    "edelman2021/lemma-B.2": 1.1,
    "edelman2021/lemma-B.3": 1.1,
    "edelman2021/lemma-B.4": 2.1,
    "edelman2021/lemma-B.5": 1.01,
    "edelman2021/lemma-B.6": 1.01,
    "edelman2021/lemma-B.7": 1.01,
    "edelman2021/lemma-B.8": 1.01,
    "edelman2021/proposition-4.7": 1.01,
    "trauger2024/lemma-3.1": 1.01,
    "trauger2024/lemma-3.2": 1.01,
    "trauger2024/lemma-E.1": 1.01,
    "mwigo2026/assumption-3": 1.01,
    "mwigo2026/section-4.1": 1.01,
    "li2026/appendix-C.2": 1.01,
    "li2026/assumption-5.1": 1.01,
    "li2026/assumption-5.5": 1.01,
    "li2026/assumption-6.2": 1.01,
    "li2026/assumption-6.8": 1.01,
    "li2026/corollary-5.6": 1.01,
    "li2026/equation-10": 1.01,
    "li2026/lemma-6.1": 1.01,
    "li2026/remark-6.12": 1.01,
}


def test_every_target_is_attacked_and_nothing_of_ours_is_broken():
    found = planted.rows(FAMILIES)
    names = [name for family in FAMILIES for name in planted.names(family)]
    targets = {t for name in names for t in runs.load()[name].targets}
    assert {row.statement for row in found} == targets == set(POWER)
    assert not [row for row in found if row.outcome is Outcome.BROKEN]
    true = {id for id, s in registry.load().items() if s.verdict is Verdict.OK}
    assert not [r for r in found if r.statement in true and r.outcome is Outcome.REFUTED]


@pytest.mark.parametrize("id", POWER)
def test_a_form_that_is_too_small_is_reported(id, monkeypatch):
    sound = planted.rows(FAMILIES, id)
    assert all(factor < POWER[id] for factor in planted.factors(sound).values())
    for form in {row.form for row in sound} - {"printed"}:
        with monkeypatch.context() as patch:
            planted.plant(patch, id, form, POWER[id])
            assert planted.broken(planted.rows(FAMILIES, id), form)


sizes = st.floats(1e-3, 1e3)


@given(sizes, sizes, sizes, sizes, sizes, st.floats(0.01, 0.99))
def test_the_dual_is_below_every_split_and_reaches_the_best(C1, C2, b1, b2, ε, t):
    lower = dual_of_split([C1, C2], [b1, b2], ε)
    assert lower <= C1 * (b1 / (t * ε)) ** 2 + C2 * (b2 / ((1 - t) * ε)) ** 2
    γ = (C1 * b1**2) ** (1 / 3) + (C2 * b2**2) ** (1 / 3)
    assert lower == pytest.approx(γ**3 / ε**2, rel=1e-6)


@given(sizes, sizes)
def test_cells_are_below_every_split_and_near_the_best(a, b):
    with np.errstate(divide="ignore"):
        lower = least_of_split(lambda t: a / t, lambda t: b / t)
    best = (math.sqrt(a) + math.sqrt(b)) ** 2
    assert lower <= best
    t = math.sqrt(a) / (math.sqrt(a) + math.sqrt(b))
    assert lower >= best * (1 - 1e-4 / min(t, 1 - t))


@pytest.mark.parametrize("d, exact", [(1, math.sqrt(2 / math.pi)), (2, 2 / math.sqrt(math.pi))])
def test_largest_of_gaussians(d, exact):
    assert exact * (1 - 1e-3) < largest_of(d) < exact


def test_the_same_seed_finds_the_same():
    for family in FAMILIES:
        for name in planted.names(family):
            assert planted.findings(name) == planted.findings.__wrapped__(name)

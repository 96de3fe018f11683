"""Attacks on deviations: quantiles by enumeration, hypotheses that hold, and power."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import planted
from dudley.audit import run as runs
from dudley.audit.attacks.deviations import Coin
from dudley.audit.judge import Outcome
from dudley.calculus import deviate
from dudley.theorems import registry

FAMILY = ("deviations",)
POWER = {
    "edelman2021/theorem-A.4": (1.01, 1.01),
    "edelman2021/lemma-2.2": (1.01, 1.01),
    "trauger2024/equation-2.3": (1.01, 1.01),
    "mwigo2026/equation-3.2": (1.01, 1.01),
    "mwigo2026/lemma-4": (1.05, 1.05),
    "mwigo2026/theorem-5": (1.1, 7),
}


def test_every_target_is_attacked_and_nothing_of_ours_is_broken():
    found = planted.rows(FAMILY)
    targets = {t for name in planted.names(*FAMILY) for t in runs.load()[name].targets}
    assert {row.statement for row in found} == targets == set(POWER)
    assert not [row for row in found if row.outcome is Outcome.BROKEN]


@pytest.mark.parametrize("id", POWER)
def test_a_form_that_is_too_small_is_reported(id, monkeypatch):
    most, telling = POWER[id]
    sound = planted.rows(FAMILY, id)
    assert all(factor < most for factor in planted.factors(sound).values())
    assert all(factor < telling for factor in planted.factors(sound, telling=True).values())
    for form in {row.form for row in sound} - {"printed"}:
        with monkeypatch.context() as patch:
            planted.plant(patch, id, form, most)
            assert planted.broken(planted.rows(FAMILY, id), form)


@pytest.mark.parametrize("form, id", [("a-priori", "lemma-2.2"), ("two-sided", "theorem-A.4")])
def test_a_deviation_that_is_too_small_is_reported(form, id, monkeypatch):
    """The factor of McDiarmid's inequality at 0.85, which no class excuses."""
    monkeypatch.setitem(deviate.FORMS, form, (0.85, 1))
    rows = planted.rows(FAMILY, f"edelman2021/{id}")
    assert planted.broken(rows, "best" if form == "a-priori" else "derived")


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("n, p", [(1, 0.5), (4, 0.5), (7, 0.25), (8, 0.625)])
@pytest.mark.parametrize("δ", [0.01, 0.2, 0.9])
def test_quantiles_by_enumeration(n, p, δ, sides):
    exact = Fraction(p)
    chance = [
        math.comb(n, j) * exact**j * (1 - exact) ** (n - j) for j in range(n + 1)
    ]  # of j losses
    gaps = [exact - Fraction(j, n) for j in range(n + 1)]
    if sides == 2:
        gaps = [abs(gap) for gap in gaps]

    def beyond(q):
        return sum(c for c, gap in zip(chance, gaps, strict=True) if gap >= q)

    wanted = max((q for q in gaps if q > 0 and beyond(q) > δ), default=0)
    assert Coin(n, p).quantile(δ, sides) == pytest.approx(float(wanted), rel=1e-9)


def test_the_trained_encoders_satisfy_the_hypotheses():
    lemma = registry.load()["mwigo2026/lemma-4"]
    found = [f for f in planted.findings("a small encoder, trained") if f.statement == lemma.id]
    assert len(found) == 3
    for finding in found:
        assert lemma.evaluate_on(finding.inputs).details["hypotheses_hold"]
        assert finding.lower.value > 0


def test_the_same_seed_finds_the_same():
    for name in planted.names(*FAMILY):
        assert planted.findings(name) == planted.findings.__wrapped__(name)

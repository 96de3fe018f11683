"""Attacks on deviations: quantiles by enumeration, hypotheses that hold, and power."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import planted
from dudley.audit.attacks.deviations import BinomialLoss
from dudley.calculus import deviate
from dudley.theorems import registry
from each import each

FAMILY = ("deviations",)


@pytest.mark.parametrize("form, id", [("a-priori", "lemma-2.2"), ("two-sided", "theorem-A.4")])
def test_a_deviation_that_is_too_small_is_reported(form, id, monkeypatch):
    """The factor of McDiarmid's inequality at 0.85, which no class excuses."""
    monkeypatch.setitem(deviate.FORMS, form, (0.85, 1))
    rows = planted.rows(FAMILY, f"edelman2021/{id}")
    assert planted.broken(rows, "best" if form == "a-priori" else "derived")


@each("sides", [1, 2])
@each("n, p", [(1, 0.5), (4, 0.5), (7, 0.25), (8, 0.625)])
@each("δ", [0.01, 0.2, 0.9])
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
    assert BinomialLoss(n, p).quantile(δ, sides) == pytest.approx(float(wanted), rel=1e-9)


def test_the_trained_encoders_satisfy_the_hypotheses():
    lemma = registry.load()["mwigo2026/lemma-4"]
    findings = [f for f in planted.findings("a small encoder, trained") if f.statement == lemma.id]
    assert len(findings) == 3
    for finding in findings:
        assert lemma.evaluate_on(finding.inputs).details["hypotheses_hold"]
        assert finding.lower.value > 0

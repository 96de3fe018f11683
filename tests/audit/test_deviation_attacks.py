"""Attacks on deviations: quantiles by enumeration, hypotheses that hold, and power."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import planted
from dudley.audit.attacks.deviations import BinomialLoss, likely_gap, mean_walk
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


def test_mean_walks_by_enumeration():
    n, p = 9, 0.3
    exact = 0.0
    for m in range(n + 1):
        walk = sum(math.comb(m, j) * abs(m - 2 * j) for j in range(m + 1)) / 2**m
        exact += math.comb(n, m) * p**m * (1 - p) ** (n - m) * walk
    assert mean_walk(n, p) == pytest.approx(exact, rel=1e-8) and mean_walk(n, p) <= exact


@each("δ", [0.05, 0.5, 0.9])
def test_random_answers_leave_such_gaps_that_often(δ):
    rng, n, N, A, draws = np.random.default_rng(3), 400, 8, 0.5, 2000
    places, signs = rng.integers(0, N, (draws, n)), rng.choice([-1, 1], (draws, n))
    sums = np.stack([(signs * (places == x)).sum(axis=1) for x in range(N)])
    gaps = A / n * np.abs(sums).sum(axis=0)
    q = likely_gap(n, N, A, δ)
    assert 0 < q < gaps.mean()
    assert (gaps >= q).mean() > δ


def test_a_complexity_without_its_integral_is_reported(monkeypatch):
    """Lemma 2.2 with a small part of its complexity: noise on few values tells."""
    from dudley.theorems.edelman2021 import generalisation

    right = generalisation.complexity
    monkeypatch.setattr(generalisation, "complexity", lambda *a: right(*a) / 400)
    rows = planted.rows(FAMILY, "edelman2021/lemma-2.2")
    assert planted.broken([r for r in rows if r.attack == "random answers"], "derived")

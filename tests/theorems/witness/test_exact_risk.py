"""Excess risks against brute force over all samples, and against each other."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import dudley as du
from dudley.theorems.witness import exact_risk
from dudley.theorems.witness.counterexamples.label_noise import LabelNoise
from dudley.theorems.witness.exact_risk import constants, finite, one_hot, unseen
from each import each


def brute(losses, p, n, worst=True):
    """E exc over all ordered samples, in rational arithmetic."""
    risks = [sum(Fraction(x) * q for x, q in zip(row, p, strict=True)) for row in losses]
    total = Fraction(0)
    for sample in itertools.product(range(len(p)), repeat=n):
        chance = math.prod((p[z] for z in sample), start=Fraction(1))
        training = [sum(Fraction(row[z]) for z in sample) for row in losses]
        tied = [r for r, t in zip(risks, training, strict=True) if t == min(training)]
        total += chance * ((max if worst else min)(tied) - min(risks))
    return total


@each("seed", range(6))
@each("worst", [True, False])
def test_finite_classes_against_all_samples(seed, worst):
    rng = np.random.default_rng(seed)
    N, m, n = int(rng.integers(2, 5)), int(rng.integers(2, 4)), int(rng.integers(1, 6))
    losses = (rng.integers(0, 4, size=(N, m)) / 4).tolist()
    weights = rng.multinomial(16, np.ones(m) / m)
    truth = brute(losses, [Fraction(int(w), 16) for w in weights], n, worst)
    risk = finite(losses, weights / 16, n, "worst" if worst else "best")
    assert risk.value <= truth
    assert risk.value == pytest.approx(float(truth), rel=1e-8, abs=1e-15)


@each("seed", range(12))
def test_rounded_probabilities_are_no_gain(seed):
    rng = np.random.default_rng(seed)
    losses, p = rng.integers(0, 3, size=(3, 3)).tolist(), rng.dirichlet(np.ones(3)).tolist()
    exact = [Fraction(x) / sum(map(Fraction, p)) for x in p]
    truth = brute(losses, exact, 4)
    risk = finite(losses, p, 4).value
    assert risk <= truth and risk == pytest.approx(float(truth), rel=1e-8)


def test_ties_are_decided_exactly():
    """0.1 + 0.2 > 0.3 for the floats that these are: no tie, and no worst one."""
    losses = [[0.1, 0.2, 9.0], [0.3, 0.0, 0.0]]
    p = [0.25, 0.25, 0.5]
    truth = brute(losses, [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)], 2)
    assert finite(losses, p, 2).value == pytest.approx(float(truth), rel=1e-8)


def test_a_target_outside_the_class():
    risk = finite([[1.0, 1.0], [1.0, 0.0]], [0.5, 0.5], 1, target=[0.0, 0.0])
    assert risk.value == pytest.approx(0.5 * 1.0 + 0.5 * 0.5)  # a tie, then the better one


def test_constants_against_two_predictors():
    for n in (1, 2, 5, 8):
        for h in (0.0, 0.125, 0.375, 0.5):
            for ties in ("worst", "best"):
                losses = [[0.0, 2.0], [2.0, 0.0]]  # of +1 and −1 on labels +1 and −1
                two = finite(losses, [0.5 + h, 0.5 - h], n, ties)
                assert constants(n, h, ties).value == pytest.approx(two.value, rel=1e-8, abs=1e-15)


def test_the_loaded_coin_is_this_class():
    for n in (101, 10_001, 1_000_001):
        witness = LabelNoise(n)
        risk = constants(n, witness.h)
        assert risk.value <= witness.lower_bound() <= risk.value * (1 + 1e-6)


def test_unseen_coordinates_against_all_samples():
    for n, d in ((1, 1), (3, 2), (4, 3), (5, 4)):
        counts = np.zeros(d + 1)
        for sample in itertools.product(range(d), repeat=n):
            counts[d - len(set(sample))] += 1
        assert np.allclose(unseen(n, d), counts / d**n, rtol=1e-12)
        exact = counts @ np.sqrt(np.arange(d + 1)) / d**n / d
        assert one_hot(n, d).value <= exact <= one_hot(n, d).value * (1 + 1e-8) + 1e-15


def test_moments_are_below_the_distribution(monkeypatch):
    exact = {(n, d): one_hot(n, d).value for n, d in ((3, 2), (9, 1), (20, 40), (300, 100))}
    monkeypatch.setattr(exact_risk, "SUMMED", 0)
    for (n, d), value in exact.items():
        by_moments = one_hot(n, d)
        assert by_moments.value <= value * (1 + 1e-9) and "moments" in by_moments.method
    assert one_hot(20, 40).value >= 0.995 * exact[20, 40]


def test_the_rate_is_slow():
    """d = 2n: E exc ≥ 1/(2√n), without noise (CATALOGUE C14)."""
    for n in (10, 1000, 10**7):
        assert 1 <= one_hot(n, 2 * n).value * 2 * math.sqrt(n) < 1.2


def test_refusals():
    for bad in (
        lambda: constants(0, 0.1),
        lambda: constants(3, 0.6),
        lambda: constants(4, 0.1, "even"),
        lambda: constants(3, 0.1, "even"),
        lambda: one_hot(0, 3),
        lambda: finite([[0, 1]], [0.5, 0.4], 1),
        lambda: finite([[0, 1]], [1.5, -0.5], 1),
        lambda: finite([[0, 1, 2]], [0.5, 0.5], 1),
        lambda: finite(np.zeros((2, 8)), np.full(8, 0.125), 100),
    ):
        with pytest.raises(du.InputError):
            bad()

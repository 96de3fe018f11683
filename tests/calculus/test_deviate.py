"""Deviation terms: McDiarmid's formula, and simulated coverage."""

import math

import numpy as np
import pytest

import calculus_checks as checks
from dudley.calculus.deviate import FORMS, deviation
from dudley.core.errors import InputError


def test_the_formula():
    checks.check_deviation(deviation)


def test_the_largest_sample_has_a_deviation():
    """2n would be infinite, and the term 0: less than the truth."""
    with np.errstate(over="raise"):
        value = float(deviation(1.5e308, 0.05))
    assert value == pytest.approx(math.sqrt(math.log(20) / 3) * 1e-154, rel=1e-12)


def test_sample_sizes_are_vectorised():
    n = np.array([10.0, 100.0, 1e12])
    assert deviation(n, 0.05) == pytest.approx([float(deviation(k, 0.05)) for k in n])
    assert (np.diff(deviation(n, 0.05)) < 0).all()


@pytest.mark.parametrize("form", list(FORMS))
def test_coverage_on_a_class_of_two(form):
    """Losses in {0, 1}: f₁ errs with probability p, f₂ = 1 − f₁; failures are at most δ."""
    n, p, δ, runs = 30, 0.3, 0.2, 20000
    rng = np.random.default_rng(0)
    errors = rng.random((runs, n)) < p
    train = errors.mean(axis=1)
    signs = rng.choice([-1.0, 1.0], size=(4000, n))
    half = np.abs(signs.sum(axis=1)).mean() / (2 * n)  # E sup of ±Σσ(ℓ−½)/n ≥ R̂ of this class
    R = half + 4 * 0.5 / math.sqrt(4000 * n)
    gap = np.maximum(p - train, (1 - p) - (1 - train))
    if form == "two-sided":
        gap = np.abs(p - train)
    failures = (gap > 2 * R + deviation(n, δ, 1.0, form)).mean()
    assert failures <= δ


def test_one_function_needs_the_deviation_term():
    """With half the term a single function already fails more than δ of the time."""
    n, p, runs = 200, 0.5, 40000
    rng = np.random.default_rng(1)
    train = rng.binomial(n, p, size=runs) / n
    δ = 0.05
    t = float(deviation(n, δ))
    assert (p - train > t).mean() <= δ
    assert (p - train > t / 2).mean() > δ


@pytest.mark.parametrize("δ", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_bad_confidence_is_refused(δ):
    with pytest.raises(InputError):
        deviation(10, δ)


@pytest.mark.parametrize(
    "options",
    [
        {"n": 0},
        {"n": -5},
        {"n": math.nan},
        {"b": -1.0},
        {"b": math.nan},
        {"paid": -1.0},
        {"form": "x"},
    ],
)
def test_bad_input_is_refused(options):
    with pytest.raises(InputError):
        deviation(**{"n": 10, "δ": 0.05, **options})


def test_a_union_is_charged_to_delta():
    paid = math.log(20)
    assert float(deviation(50, 0.5, paid=paid)) == pytest.approx(float(deviation(50, 0.5 / 20)))

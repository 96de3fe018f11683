"""The rate in n that each statement claims, and the one that its repaired form has: measured.

A rate is the local slope of log(value) against log n, before the trivial minimum, on the
statement's own example (which declares the noise), at n ≥ 100 times the size at which the bound
begins to say something. Logarithms move a slope by at most ``LOGARITHMS``.
"""

from __future__ import annotations

import math

import pytest

from dudley.core.bound import Bound
from dudley.core.statement import Statement
from dudley.theorems import registry

STATEMENTS = {id: s for id, s in registry.load().items() if s.rates}
CASES = [(id, form) for id, s in STATEMENTS.items() for form in s.rates]
LOGARITHMS = 0.13


def before_the_trivial_minimum(bound: Bound) -> float:
    return sum(term.value for term in bound.terms) if bound.terms else bound.value


def threshold(s: Statement, form: str) -> float:
    """The power of two n from which the form is below its trivial bound (1 if it has none)."""
    n = 1.0
    while True:
        bound = s.evaluate_on({**s.example, "n": n}, form)
        trivial = bound.trivial if math.isfinite(bound.trivial) else 1.0
        if 0 < before_the_trivial_minimum(bound) < trivial:
            return n
        n *= 2
        assert n < 2.0**900, f"{s.id}, {form}: vacuous for every n"


def slope(s: Statement, form: str) -> float:
    """d log(value)/d log n over a factor of 64, past 128 times the threshold.

    A printed formula without a trivial bound is asymptotic: it is measured 2⁴⁰ times past it.
    """
    start = threshold(s, form)
    known = math.isfinite(s.evaluate_on({**s.example, "n": start}, form).trivial)
    low = start * (2.0**40 if form == "printed" and not known else 128)
    values = [
        before_the_trivial_minimum(s.evaluate_on({**s.example, "n": n}, form))
        for n in (low, 64 * low)
    ]
    return math.log(values[1] / values[0]) / math.log(64)


@pytest.mark.slow
@pytest.mark.parametrize("id, form", CASES)
def test_a_declared_rate_is_the_measured_one(id, form):
    s = STATEMENTS[id]
    assert slope(s, form) == pytest.approx(s.rates[form], abs=LOGARITHMS)


@pytest.mark.slow
def test_norm_based_bounds_do_not_have_the_rate_they_claim():
    """li2026, Theorem 5.3 claims 1/n; one scale has n^{-1/3}, chaining n^{-1/2}."""
    s = STATEMENTS["li2026/theorem-5.3"]
    assert slope(s, "printed") < -0.85
    assert slope(s, "derived") > -0.4
    assert -0.55 < slope(s, "best") < -0.4


def test_the_check_can_fail():
    s = STATEMENTS["li2026/theorem-5.3"]
    assert slope(s, "derived") != pytest.approx(-1.0, abs=LOGARITHMS)

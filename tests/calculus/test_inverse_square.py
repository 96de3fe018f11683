"""Dudley's integral of α + C/ε² in closed form: exact, from above, and below the Riemann sums."""

import math

import numpy as np
import pytest
from flint import arb, ctx

from dudley.calculus import chain
from dudley.core.entropy import InverseSquare, PowerLaw
from dudley.theorems.chaining import chained
from dudley.theorems.trauger2024.peeling import Choices
from each import each

CASES = [
    (C, A, n)
    for C in (1e-9, 0.02, 1.0, 37.0, 1e8)
    for A in (1e-3, 1.0, 250.0)
    for n in (1.0, 6.0, 7.0, 400.0, 1e6, 1e15)
]
LAWS = [
    InverseSquare(α, math.log(C), math.log(reach), math.log(2.0))
    for α in (0.0, 0.7, 9.0)
    for C in (1e-4, 1.0, 30.0)
    for reach in (1e-3, 0.3, 1.5)
]


def infimum(C: float, A: float, n: float) -> arb:
    """min(A, 4a + 12r·log(ρ/a)), a = min(3r, ρ), in ball arithmetic of 200 bits."""
    r, ρ = (arb(C) / arb(n)).sqrt(), min(arb(A) / 2, (arb(C) / arb(2).log()).sqrt())
    a = min(3 * r, ρ)
    return min(arb(A), 4 * a + 12 * r * (ρ / a).log())


@each("C, A, n", CASES)
def test_a_power_law_is_chained_exactly_and_from_above(C, A, n):
    ctx.prec = 200
    try:
        exact, value = infimum(C, A, n), chained(PowerLaw(C, A), A, n)
        assert arb(value) >= exact or value == A
        assert arb(value) <= exact * (1 + arb(1e-11))
    finally:
        ctx.prec = 53


@each("law", LAWS)
def test_it_is_the_infimum_of_the_integral(law):
    """Sums from below and from above on a fine grid enclose it, whatever the cut-off."""
    A, steps = math.exp(law.log_radius), 40_000
    ε = A / 2 * np.exp(-np.linspace(0, 18, steps))
    C, reach = math.exp(law.log_C), math.exp(law.log_reach)
    for n in (1.0, 50.0, 1e4, 1e9):
        root = np.sqrt((law.α + np.where(ε < reach, C / ε**2, 0.0)) / n)
        widths = ε[:-1] - ε[1:]
        value = A * float(chain.inverse_square(law, law.log_radius, np.log([n]))[0])
        ends = []
        for heights in (root[:-1], root[1:]):
            integral = np.concatenate([[0.0], np.cumsum(widths * heights)])
            ends.append(min(A, float((4 * ε + 12 * integral).min())))
        assert ends[0] * (1 - 1e-3) <= value <= ends[1] * (1 + 1e-12)
        assert ends[1] <= ends[0] * 1.01  # the enclosure says something


def test_both_rules_agree_where_each_applies():
    """Riemann sums on the coarse grid are above, by at most the width of a step."""
    log_n = np.log([10.0, 1e4, 1e8])
    for entropy in (PowerLaw(1.0, 1.0), Choices(PowerLaw(0.3), 0.0, 16, 0.0)):
        grid = chain.scales(log_n)
        sums = chain.dudley(chain.entropies(entropy, 0.0, log_n, grid), log_n, grid)
        closed = chain.by_integral(entropy, 0.0, log_n)
        assert (closed <= sums).all()
        assert sums == pytest.approx(closed, rel=0.13)
        assert (chain.complexity(entropy, 0.0, log_n) <= closed).all()


def test_choices_of_something_else_have_no_closed_form():
    nested = Choices(Choices(PowerLaw(1.0), 0.0, 4, 0.0), 0.0, 4, 0.0)
    assert nested.inverse_square() is None


def test_the_displayed_number_is_the_derived_one():
    r = 1e-3
    assert chained(PowerLaw(1.0, 1.0), 1.0, 1e6) == pytest.approx(
        12 * r * (1 + math.log(1 / (6 * r))), rel=1e-12
    )

"""Outward rounding: integer parts against rational arithmetic, floats against exact ones."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import checks
import oracles
from dudley.classes.ratio import ExactRatio, LogRatio
from dudley.core.rounding import ceil_power_ratio, down, exp_up, up

positive = st.floats(1e-9, 1e9, allow_subnormal=False)


def test_integer_parts_beside_integers():
    checks.check_integer_parts(ceil_power_ratio)


def test_integer_parts_from_logs_beside_integers():
    checks.check_log_ratio(LogRatio)


@given(st.lists(positive, min_size=1, max_size=3), positive, st.sampled_from([1, 2]), positive)
def test_integer_parts_are_exact_up_to_two_to_the_53(factors, ε, power, times):
    exact = oracles.ceil_ratio(*factors, over=ε, power=power, times=times)
    value = ceil_power_ratio(tuple(factors), ε, power, times)
    if exact < 2**53:
        assert value == exact
    else:
        assert exact <= Fraction(value) <= exact * (1 + Fraction(1, 10**12))


@given(st.integers(1, 2**26), st.integers(-3, 3))
def test_squares_beside_integers(k, step):
    """1/ε beside √k, where a float cannot tell on which side of k its square lies."""
    ε = 1 / math.sqrt(k)
    for _ in range(abs(step)):
        ε = math.nextafter(ε, math.inf if step > 0 else 0.0)
    exact = oracles.ceil_ratio(1.0, over=ε, power=2)
    assert ceil_power_ratio((1.0,), ε, 2) == exact
    assert ExactRatio((1.0,), ε).ceil_square() == exact
    assert LogRatio(np.asarray(-math.log(ε))).ceil_square() >= exact


def test_integer_parts_near_two_to_the_53():
    for k in (2**53 - 2, 2**53 - 1, 2**53, 2**53 + 2, 2**60):
        assert ceil_power_ratio((float(k),), 1.0, 1) >= k
        if k < 2**53:
            assert ceil_power_ratio((float(k),), 1.0, 1) == k
    big = 3.0**33  # 5.6e15, with its neighbours
    for value in (big, math.nextafter(big, 0), math.nextafter(big, math.inf)):
        assert ceil_power_ratio((value, 0.1), 0.1, 1) == oracles.ceil_ratio(value, 0.1, over=0.1)


@pytest.mark.parametrize(
    ("factors", "ε", "power"),
    [
        ((1e-200,), 1.0, 2),  # the square underflows: the integer part is 1, not 0
        ((1.0,), 1e-200, 2),  # the square overflows: infinity, not an exception
        ((1e-200, 1e-200), 1e-300, 1),
        ((1e200, 1e200), 1e300, 1),
        ((1e-160, 1e-160), 1e-321, 1),
    ],
)
def test_integer_parts_out_of_the_floats(factors, ε, power):
    exact = oracles.ceil_ratio(*factors, over=ε, power=power)
    value = ceil_power_ratio(factors, ε, power)
    assert value >= exact if exact < 10**308 else value == math.inf


@given(st.floats(-1e300, 1e300, allow_subnormal=False))
def test_up_and_down(x):
    assume(abs(x) > 1e-290)
    assert down(x) < x < up(x)
    assert Fraction(up(x)) - Fraction(x) >= abs(Fraction(x)) * Fraction(2, 2**52)
    assert up(0.0) == 0.0 == down(0.0)


@given(st.floats(-700, 700))
def test_exp_up_is_above(u):
    flint = pytest.importorskip("flint")
    assert bool(flint.arb(float(exp_up(u))) >= flint.arb(u).exp())
    assert float(exp_up(u)) <= math.exp(u) * (1 + 1e-12)


def test_exp_up_at_the_ends():
    assert exp_up(-math.inf) == 0.0
    assert exp_up(800.0) == math.inf
    assert (exp_up(np.array([-math.inf, 0.0])) >= np.array([0.0, 1.0])).all()

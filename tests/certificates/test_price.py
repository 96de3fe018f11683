"""Prices: nats are never below what the weights of a list cost, and nothing odd passes."""

import math
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given, strategies as st

from dudley.certificates.price import Bill, Price, bits, one_of
from dudley.core.errors import InputError

nats = st.floats(1e-9, 1e6)


@given(st.integers(1, 10**30))
def test_one_of_many_is_at_least_its_logarithm(count):
    with ctx.workprec(200):
        assert arb(one_of("list", count).nats) >= arb(count).log()
        assert arb(one_of("list", count).nats) <= arb(count).log() * (1 + arb(2) ** -45)


@given(st.floats(1e-6, 1e9))
def test_bits_are_at_least_ln_2_each(count):
    with ctx.workprec(200):
        assert arb(bits("code", count).nats) >= arb(count) * arb(2).log()


@given(st.floats(1e-300, 1, exclude_max=True), st.lists(nats, max_size=20))
def test_the_confidence_is_at_least_the_sum(delta, paid):
    bill = Bill(delta, tuple(Price(f"{i}", x) for i, x in enumerate(paid)))
    exact = sum(map(Fraction, paid), Fraction(0))
    assert Fraction(bill.nats) >= exact
    with ctx.workprec(300):
        total = arb(exact.numerator) / exact.denominator - arb(delta).log()
        assert arb(bill.log_confidence) >= total
        assert arb(bill.log_confidence) <= total * (1 + arb(2) ** -45)


def test_one_of_one_is_free_and_prices_are_shown():
    assert one_of("looks", 1).nats == 0
    assert one_of("looks", 7).to_json() == {
        "name": "looks",
        "nats": one_of("looks", 7).nats,
        "note": "one of 7",
    }
    assert Bill(0.05).nats == 0
    assert math.isclose(Bill(0.05).log_confidence, math.log(20), rel_tol=1e-14)


@pytest.mark.parametrize("odd", [-1.0, math.inf, math.nan, "1", None])
def test_odd_prices_are_refused(odd):
    with pytest.raises(InputError, match="price of code"):
        Price("code", odd)


@pytest.mark.parametrize("odd", [0.0, 1.0, -0.1, 1.5, math.nan, "0.05", None, [0.1]])
def test_odd_confidences_are_refused(odd):
    with pytest.raises(InputError, match="delta"):
        Bill(odd)


def test_a_list_without_entries_is_refused():
    with pytest.raises(InputError, match="entries of method"):
        one_of("method", 0)

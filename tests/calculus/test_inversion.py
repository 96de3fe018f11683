"""Inversions against exact rational sums, scipy's beta quantiles, and each other."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, strategies as st
from scipy import stats

from dudley.calculus import inversion
from dudley.calculus.inversion import binomial_lower, binomial_upper, kl_upper
from dudley.core.errors import InputError

confidence = st.floats(0.8, 400.0)


def tail(k: int, n: int, p: float) -> Fraction:
    """P[Bin(n, p) ≤ k], exactly, for the rational number that p is."""
    P = Fraction(p)
    return sum(
        (math.comb(n, i) * P**i * (1 - P) ** (n - i) for i in range(k + 1)),
        start=Fraction(0),
    )


def below(probability: Fraction, c: float) -> bool:
    """Is it < e^{−c}, surely?"""
    with ctx.workprec(400):
        return bool(arb(probability.numerator) / probability.denominator < (-arb(c)).exp())


@given(st.data(), st.integers(1, 40), st.floats(0.8, 60.0))
def test_binomial_upper_is_the_root_from_above(data, n, c):
    k = data.draw(st.integers(0, n))
    p = binomial_upper(k, n, c)
    if p == 1:
        assert k == n or below(tail(k, n, math.nextafter(1, 0)), c) is False
        return
    assert below(tail(k, n, p), c)  # safe
    lower = p * (1 - 1e-12)
    assert lower < k / n or not below(tail(k, n, lower), c)  # and not more than it must be


@given(st.data(), st.integers(1, 5000), st.sampled_from([0.5, 0.1, 0.05, 1e-3, 1e-9]))
def test_binomial_ends_agree_with_beta_quantiles(data, n, delta):
    k, c = data.draw(st.integers(0, n - 1)), -math.log(delta)
    expected = stats.beta.isf(delta, k + 1, n - k)
    if expected >= k / n:  # else k/n, which is above
        assert binomial_upper(k, n, c) == pytest.approx(expected, rel=1e-9)
    mirrored = stats.beta.ppf(delta, n - k, k + 1)
    if mirrored <= (n - k) / n:
        assert binomial_lower(n - k, n, c) == pytest.approx(mirrored, rel=1e-9, abs=1e-15)


@given(st.data(), st.integers(1, 10**6), confidence)
def test_binomial_upper_is_below_kl_and_monotone(data, n, c):
    k = data.draw(st.integers(0, min(n, 300)))
    p = binomial_upper(k, n, c)
    q, share = math.nextafter(k / n, 2), math.nextafter(c / n, math.inf)
    assert k / n <= p <= kl_upper(min(q, 1.0), share) * (1 + 1e-12)
    assert binomial_upper(min(k + 1, n), n, c) >= p * (1 - 1e-12)
    assert binomial_upper(k, n, c + 1) >= p * (1 - 1e-12)
    assert binomial_upper(k, n + 1, c) <= p * (1 + 1e-12)


def test_no_errors_have_a_closed_form():
    for n in (1, 10, 10**4, 10**8):
        exact = -math.expm1(-3.0 / n)
        assert exact * (1 - 1e-15) <= binomial_upper(0, n, 3.0) <= exact * (1 + 1e-12)


def exact_kl(q: float, p: float):
    Q, P = arb(q), arb(p)
    first = Q * (Q / P).log() if q else arb(0)
    return first + ((1 - Q) * ((1 - Q) / (1 - P)).log() if q < 1 else arb(0))


@given(st.floats(0, 1), st.floats(1e-9, 50))
def test_the_kl_inverse_is_a_root_from_outside(q, c):
    high = kl_upper(q, c)
    assert q <= high <= 1
    with ctx.workprec(2000):
        if high < 1:
            assert exact_kl(q, high) > arb(c)
            inner = q + (high - q) * (1 - 1e-6)
            assert inner in (q, high) or not exact_kl(q, inner) > arb(c) * (1 + arb(2) ** -10)


@given(st.floats(0, 1), st.floats(0, 5))
def test_kl_upper_beats_pinsker(q, c):
    assert kl_upper(q, c) <= min(1.0, q + math.sqrt(c / 2)) * (1 + 1e-6) + 1e-8


def test_a_wrong_constant_would_be_seen(monkeypatch):
    """The proof refuses candidates on the wrong side, whatever made them."""
    true = binomial_upper(4, 300, 5.0)
    assert not inversion._tail_surely_below(4, 300, true * (1 - 1e-9), 5.0)
    assert not inversion._kl_surely_above(0.1, kl_upper(0.1, 0.01) * (1 - 1e-9), 0.01)
    monkeypatch.setattr(inversion, "_bisect", lambda below, low: low)
    moved = binomial_upper.__wrapped__(4, 300, 5.0)
    assert true * (1 - 1e-12) <= moved <= 3 * true
    assert kl_upper.__wrapped__(0.1, 0.01) >= kl_upper(0.1, 0.01) * (1 - 1e-12)


def test_integers_of_numpy_are_integers():
    assert binomial_upper(np.int64(3), np.int32(77), 3.0) == binomial_upper(3, 77, 3.0)


@pytest.mark.parametrize(
    ("errors", "n", "c"),
    [(-1, 10, 1.0), (11, 10, 1.0), (0, 0, 1.0), (2.5, 10, 1.0), ("2", 10, 1.0)]
    + [(1, 10, odd) for odd in (0.0, -1.0, math.inf, math.nan)],
)
def test_odd_counts_are_refused(errors, n, c):
    with pytest.raises(InputError):
        binomial_upper(errors, n, c)


@pytest.mark.parametrize(
    ("q", "c"), [(-0.1, 1), (1.1, 1), (math.nan, 1), (0.5, -1), (0.5, math.inf)]
)
def test_odd_shares_are_refused(q, c):
    with pytest.raises(InputError):
        kl_upper(q, c)

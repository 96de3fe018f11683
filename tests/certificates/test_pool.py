"""Finite pools against exact integer counts."""

import math
from fractions import Fraction

import pytest
from flint import arb, ctx
from hypothesis import given, strategies as st
from scipy import stats

from dudley.calculus.inversion import binomial_upper
from dudley.certificates import pool
from dudley.certificates.pool import (
    hypergeometric_lower,
    hypergeometric_upper,
    share_down,
    share_up,
)
from dudley.core.errors import InputError


def tail(k: int, n: int, N: int, D: int) -> Fraction:
    """P[K ≤ k] by counting subsets."""
    ways = sum(math.comb(D, i) * math.comb(N - D, n - i) for i in range(min(k, n) + 1))
    return Fraction(ways, math.comb(N, n))


def at_least(probability: Fraction, c: float) -> bool:
    with ctx.workprec(400):
        return bool(arb(probability.numerator) / probability.denominator >= (-arb(c)).exp())


@given(st.data(), st.integers(1, 60), st.floats(0.01, 40.0))
def test_it_is_the_largest_number_that_the_draw_allows(data, N, c):
    n = data.draw(st.integers(1, N))
    k = data.draw(st.integers(0, n))
    bound = hypergeometric_upper(k, n, N, c)
    expected = max(D for D in range(N + 1) if k <= D and at_least(tail(k, n, N, D), c))
    assert bound == expected


@given(st.data(), st.integers(1, 60), st.floats(0.01, 40.0))
def test_the_lower_end_is_the_least(data, N, c):
    n = data.draw(st.integers(1, N))
    k = data.draw(st.integers(0, n))

    def upper_tail(D):
        return 1 - tail(k - 1, n, N, D) if k else Fraction(1)

    expected = min(D for D in range(N + 1) if n - k <= N - D and at_least(upper_tail(D), c))
    assert hypergeometric_lower(k, n, N, c) == expected


@given(st.data(), st.integers(2, 50_000))
def test_large_pools_agree_with_scipy(data, N):
    n = data.draw(st.integers(1, N))
    k = data.draw(st.integers(0, min(n, 200)))
    D = hypergeometric_upper(k, n, N, math.log(20))
    assert k <= D <= N - n + k
    assert stats.hypergeom.cdf(k, N, D, n) >= 0.05 * (1 - 1e-6)
    if N - n + k > D:
        assert stats.hypergeom.cdf(k, N, D + 1, n) < 0.05 * (1 + 1e-6)


def test_all_of_the_pool_leaves_no_doubt_and_a_huge_pool_is_a_population():
    assert hypergeometric_upper(7, 100, 100, 3.0) == 7
    share = hypergeometric_upper(3, 100, 10**8, 3.0) / 10**8
    assert share == pytest.approx(binomial_upper(3, 100, 3.0), rel=1e-4)


def test_every_number_fails_with_probability_at_most_delta():
    """For each D, sum the probabilities of the draws whose bound is below D."""
    N, n, δ = 40, 15, 0.1
    bounds = [hypergeometric_upper(k, n, N, -math.log(δ)) for k in range(n + 1)]
    worst = 0.0
    for D in range(N + 1):
        fails = [k for k in range(n + 1) if bounds[k] < D]
        worst = max(worst, float(sum(stats.hypergeom.pmf(k, N, D, n) for k in fails)))
    assert 0.05 < worst <= δ


@given(st.integers(0, 10**17), st.integers(1, 10**17))
def test_shares_are_rounded_outward(part, whole):
    assert Fraction(share_down(part, whole)) <= Fraction(part, whole)
    assert Fraction(share_up(part, whole)) >= Fraction(part, whole)
    assert share_up(part, whole) <= share_down(part, whole) * (1 + 1e-15)


def test_a_number_too_small_would_be_seen():
    D = hypergeometric_upper(2, 50, 200, 3.0)
    assert not pool._tail_surely_below(2, 50, 200, D, 3.0)
    assert pool._tail_surely_below(2, 50, 200, D + 1, 3.0)


@pytest.mark.parametrize(
    ("errors", "n", "N", "c"),
    [(-1, 5, 9, 1.0), (6, 5, 9, 1.0), (1, 10, 9, 1.0), (0, 0, 9, 1.0)]
    + [(1, 5, 9, odd) for odd in (0.0, math.inf, math.nan)],
)
def test_odd_counts_are_refused(errors, n, N, c):
    with pytest.raises(InputError):
        hypergeometric_upper(errors, n, N, c)

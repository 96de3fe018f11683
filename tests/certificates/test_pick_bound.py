"""The bounds of pick-to-learn against exact arithmetic, and mutants that must not pass for them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from certificates.pick_checks import check_root, exact_sum
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.methods.pick_to_learn.bound import PickWeights, risk_upper
from dudley.certificates.methods.pick_to_learn.capped import capped_upper
from dudley.certificates.methods.pick_to_learn.finite import pool_errors_upper

CASES = [(N, k) for N in (1, 2, 5, 9, 12) for k in range(N + 1)]


@pytest.mark.parametrize("δ", [Fraction(1, 20), Fraction(1, 5)])
def test_the_root_is_that_of_exact_arithmetic_and_is_never_below_it(δ):
    for N, k in CASES:
        check_root(k, N, δ)


def test_the_exact_sum_tells_a_plus_from_a_times():
    c = math.log(20)
    for N, k in CASES:
        if 0 < k < N and N >= 5:
            ε = Fraction(risk_upper(k, N, c))
            assert abs(exact_sum(k, N, ε, Fraction(1, 20), "+") - 1) > Fraction(1, 100), (N, k)


def test_known_values():
    c = math.log(20)
    assert risk_upper(11, 100_000, c) == pytest.approx(0.00023, abs=5e-6)
    assert risk_upper(39, 100_000, c) == pytest.approx(0.00060, abs=5e-6)
    assert risk_upper(62, 10_000, c) == pytest.approx(0.0089, abs=5e-5)
    assert risk_upper(2470, 60_000, c) == pytest.approx(0.044, abs=5e-4)


def test_the_bound_grows_with_k_and_is_above_clopper_pearson():
    c = math.log(20)
    bounds = [risk_upper(k, 1000, c) for k in range(0, 1001, 20)]
    assert bounds == sorted(bounds)
    for k in (1, 10, 100, 500):
        assert risk_upper(k, 1000, c) > binomial_upper(k, 1000, c)


def test_a_whole_bill_of_numbers_is_possible_up_to_ten_million():
    for k in (0, 10, 1000, 10**5, 10**6, 9_999_999):
        assert k / 10**7 < risk_upper(k, 10**7, math.log(20)) <= 1


def test_concentrated_weights_help_where_expected_and_stay_valid_elsewhere():
    c = math.log(20)
    assert risk_upper(62, 10_000, c, PickWeights(60)) < risk_upper(62, 10_000, c)
    assert risk_upper(600, 10_000, c, PickWeights(60)) > risk_upper(600, 10_000, c)


def test_the_capped_form_counts_errors_and_picks():
    c = math.log(20)
    assert capped_upper(26, 36, 10_000, 26, c) == pytest.approx(0.0078, abs=2e-4)
    assert capped_upper(26, 36, 10_000, 26, c) < risk_upper(62, 10_000, c)
    assert capped_upper(26, 37, 10_000, 26, c) > capped_upper(26, 36, 10_000, 26, c)
    with pytest.raises(ValueError, match="picks"):
        capped_upper(27, 36, 10_000, 26, c)


def exact_pool(k: int, N: int, M: int, δ: Fraction) -> int:
    """The largest number of errors outside Z that the sum does not rule out."""
    for errors in range(M - N, -1, -1):
        c = M - k - errors
        total = Fraction(0)
        for m in range(k, N):
            if c < N - k:
                continue
            ratio = Fraction(math.comb(M, N) * math.comb(c, m - k))
            total += δ / N * ratio / (math.comb(M, m) * math.comb(c, N - k))
        if total < 1:
            return errors
    return 0


def test_the_pool_form_is_that_of_exact_counting():
    for N, M in ((3, 6), (5, 12), (8, 20), (10, 14)):
        for k in range(N):
            for δ in (Fraction(1, 20), Fraction(1, 3)):
                bound = pool_errors_upper(k, N, M, -math.log(float(δ)))
                assert bound == exact_pool(k, N, M, δ), (N, M, k, δ)

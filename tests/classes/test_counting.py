"""Counts of integer vectors, against big integers and enumeration."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import checks
import oracles
from dudley.classes.counting import log_binomial, log_delannoy


@pytest.mark.parametrize(("p", "K"), [(1, 5), (2, 4), (3, 3), (4, 2)])
def test_the_oracle_counts_lattice_points(p, K):
    assert oracles.delannoy(p, K) == len(oracles.lattice(p, K))


def test_delannoy_against_big_integers():
    checks.check_delannoy(log_delannoy)


@given(st.integers(1, 2000), st.integers(0, 2000))
def test_delannoy_is_never_below(p, K):
    exact = oracles.log_int(oracles.delannoy(p, K))
    assert (
        exact <= float(log_delannoy(p, K)) <= min(K * math.log(2 * p + 1), exact + 6) * (1 + 1e-9)
    )


@given(st.integers(1, 64), st.integers(0, 2**53 - 1))
def test_delannoy_up_to_two_to_the_53(p, K):
    exact = oracles.log_int(oracles.delannoy(p, K))
    value = float(log_delannoy(p, K))
    assert exact <= value
    if p <= 8 or K <= 4096:
        assert value <= exact * (1 + 1e-9)


def test_delannoy_grows_with_both_and_is_vectorised():
    p = np.array([1, 3, 8, 9, 20, 63, 64, 65, 66, 500, 5000])
    K = np.array([0, 1, 2, 7, 8, 9, 63, 64, 65, 66, 4095, 4096, 4097, 4098, 10**6, 2**53, 2**55])
    table = log_delannoy(p[:, None], K[None, :])
    assert table.shape == (len(p), len(K))
    assert (np.diff(table, axis=0) >= 0).all()
    assert (np.diff(table, axis=1) >= 0).all()
    for i in range(len(p)):
        for j in range(len(K)):
            assert math.isclose(table[i, j], float(log_delannoy(p[i], K[j])), rel_tol=1e-12)


@given(st.integers(0, 300), st.integers(0, 300))
def test_binomials_from_above(a, b):
    exact = math.log(math.comb(a + b, b))
    assert exact <= log_binomial(a, b) <= exact + 0.5 * math.log(a + b + 1) + 2

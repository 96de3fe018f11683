"""The count of vectors rounded entry by entry, against a count one coordinate at a time."""

import math

import numpy as np
import pytest

import oracles
from dudley.classes.counting import log_nearest


@pytest.mark.parametrize("p", [1, 2, 5, 33, 65])
def test_the_count_is_exact_while_the_sum_is_short(p):
    for K in (0, 1, 2, 3, 7, 20, 61):
        assert math.isclose(
            float(log_nearest(p, K)), oracles.log_int(oracles.nearest(p, K)), abs_tol=1e-9
        )


def test_where_the_sum_is_long_the_bound_is_above_and_near():
    for p, K in ((3, 30_000), (2, 100_001)):
        exact = math.log(
            sum(2**j * math.comb(p, j) * math.comb((K - j) // 2 + j, j) for j in range(p + 1))
        )
        assert exact <= float(log_nearest(p, K)) <= exact + 2.5


def test_it_never_falls_as_K_grows():
    K = np.concatenate([np.arange(0, 400), np.geomspace(400, 1e18, 300).round()])
    for p in (1, 4, 65, 4096):
        assert (np.diff(log_nearest(p, K)) >= -1e-9).all()
    beyond = log_nearest(65, np.array([math.inf, math.inf]), np.array([800.0, 900.0]))
    assert np.isfinite(beyond).all()
    assert beyond[0] < beyond[1]

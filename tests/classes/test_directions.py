"""Lines close to every vector: the caps they are counted by, and how many are claimed."""

import math

import numpy as np

import direction_checks
import oracles
from dudley.classes.counting import log_delannoy, log_log_delannoy
from dudley.classes.directions import lines, log_cap, products, worth_trying


def test_caps_and_lines_against_interval_arithmetic():
    direction_checks.check_caps(log_cap)
    direction_checks.check_lines(lines)


def test_every_vector_is_within_the_stretch():
    for b in (2, 3, 4):
        for t, log_m in lines(b):
            if log_m < 7:
                oracles.directions(b, round(math.exp(log_m)), t)  # refuses where it is not so


def test_stretches_fall_as_lines_grow():
    for b in (2, 3, 64, 768, 50257):
        log_m = np.array([v for _, v in sorted(lines(b)[1:])])
        assert (np.diff(log_m) <= 0).all()
        assert (log_m < b * math.log(50)).all()


def test_few_choices_lose_little():
    every = products(lines(64), lines(768))
    few = worth_trying(every)
    assert len(few) < 20
    for κ in range(0, 700, 7):
        least, best = (min(t * (log_m + κ) for t, log_m in some) for some in (every, few))
        assert least <= best <= 1.05 * least


def test_counts_of_any_size():
    """Where numbers are floats it is the count of Delannoy; beyond, never below a simple count."""
    K = np.array([0.0, 1.0, 7.0, 1e4, 1e9])
    with np.errstate(divide="ignore"):
        log_K = np.log(K)
        for p in (1, 9, 5000, 10**11):
            expected = np.log(log_delannoy(p, K))
            np.testing.assert_allclose(log_log_delannoy(math.log(p), K, log_K), expected)
    for log_p in (300.0, 649.0, 651.0, 3e4):  # C(p, K) ≥ (p/K)^K points of +1
        values = np.exp(log_log_delannoy(log_p, K, log_K))
        assert values[0] == 0
        assert (values[1:] >= K[1:] * (log_p - log_K[1:])).all()
        assert (values[1:] <= K[1:] * (log_p + 0.7)).all()
        far = log_log_delannoy(log_p, np.array([math.inf]), np.array([800.0]))
        assert 0 < far[0] < 900

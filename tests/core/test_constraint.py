"""Sets of weights: refusals, intersections, centres, and bounds that members obey."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import checks
import dudley as du
from dudley.core.constraint import Ball, Center, radius_of, size_of
from dudley.core.norms import NORMS


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "1", None, True, 1j, [1.0]])
def test_bad_radii_are_refused(bad):
    for make in (du.L11, du.Spectral, lambda r: du.ball("row21", r)):
        with pytest.raises(du.InputError):
            make(bad)
    with pytest.raises(du.InputError):
        du.Constraint((Ball("fro", bad),)).bounds((2, 2))


@pytest.mark.parametrize("bad", [0, -2, 2.5, math.nan, math.inf, True, "3", 2.0**53])
def test_bad_sizes_are_refused(bad):
    with pytest.raises(du.InputError):
        size_of("rank", bad)


def test_good_numbers_are_kept():
    assert radius_of("r", np.float32(2.0)) == 2.0
    assert radius_of("r", 0) == 0.0
    assert isinstance(radius_of("r", du.Observed(2.0)), du.Observed)
    assert size_of("n", 1e6) == 10**6
    assert size_of("n", np.int64(3)) == 3


def test_a_number_read_off_the_data_stays_marked():
    assert isinstance(du.L11(du.Observed(2.0)).balls[0].radius, du.Observed)
    assert isinstance((du.L11(du.Observed(2.0)) & du.Spectral(1.0)).balls[0].radius, du.Observed)
    assert repr(du.Observed(2.0)) == "Observed(2.0)"
    center = Center.of({"op": du.Observed(3.0)})
    assert isinstance(center.norms[0][1], du.Observed)


@pytest.mark.parametrize(
    "center",
    [np.full((2, 2), np.nan), np.zeros((2, 2, 2)), {"op": -1.0}, {"opp": 1.0}, "eye"],
)
def test_bad_centres_are_refused(center):
    with pytest.raises((du.DudleyError, ValueError)):
        du.Frobenius(1.0, center=center)


@given(st.integers(0, 2**32 - 1), st.sampled_from(checks.CASES))
def test_members_obey_every_implied_bound(seed, case):
    rng = np.random.default_rng(seed)
    bounds = case.constraint.bounds(case.shape)
    for W in case.members(rng, 4):
        for name, norm in NORMS.items():
            assert norm(W) <= bounds[name] * (1 + 1e-9)
    ((center, deviation),) = case.constraint.deviations(case.shape)
    middle = 0 if center is None else np.array(case.center)
    for W in case.members(rng, 4):
        for name, norm in NORMS.items():
            assert norm(W - middle) <= deviation[name] * (1 + 1e-9)


def test_centres_are_bounded_from_above():
    rng = np.random.default_rng(0)
    for shape in ((3, 4), (40, 30)):
        W = rng.standard_normal(shape)
        for name, bound in Center.of(W).norms:
            exact = math.fsum(abs(W).ravel()) if name == "l11" else NORMS[name](W)
            assert exact <= bound <= exact * (1 + 1e-9)
        constraint = du.Spectral(0.5, center=W)
        assert NORMS["op"](W) <= constraint.bounds(shape)["op"]


def test_two_centres_and_a_rank():
    W0, W1 = np.eye(3), 2 * np.eye(3)
    both = du.Spectral(1.0, center=W0) & du.Frobenius(4.0, center=W1) & du.Rank(1) & du.Rank(2)
    assert both.rank == 1
    assert len(both.deviations((3, 3))) == 2
    assert both.bounds((3, 3))["op"] <= 2.0 * (1 + 1e-9)
    assert both.bounds((3, 3))["nuc"] <= 2.0 * (1 + 1e-9)  # rank one
    for _, deviation in both.deviations((3, 3)):
        assert deviation["nuc"] > 2.5  # W − W0 need not have rank one


def test_only_and_str():
    assert du.L11(1.0).only("l11")
    assert not du.L11(1.0).only("fro")
    assert not (du.L11(1.0) & du.Spectral(1.0)).only("l11")
    assert not (du.L11(1.0) & du.Rank(1)).only("l11")
    assert str(du.L11(20) & du.Rank(2)) == "l11 ≤ 20 & rank ≤ 2"
    assert (du.L11(1.0).tied("E") & du.Spectral(1.0)).tie == "E"

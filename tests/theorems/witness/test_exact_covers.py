"""Smallest covers and largest packings, against exhaustion."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

import dudley as du
from dudley.theorems.witness import exact_covers
from dudley.theorems.witness.exact_covers import (
    largest_packing,
    packing,
    proper_cover,
    scalar_cover,
)
from dudley.theorems.witness.packings import distances
from each import each


def smallest_proper(metric, ε):
    """The least number of members within ε of all, by trying all subsets."""
    N = len(metric)
    for size in range(1, N + 1):
        for chosen in itertools.combinations(range(N), size):
            if (metric[:, chosen].min(axis=1) <= ε).all():
                return size
    raise AssertionError


def smallest_cover(F, ε):
    """The least number of groups that fit into 2ε at every point: dynamic programming."""
    N = len(F)
    fits = {0: True}
    for mask in range(1, 2**N):
        rows = F[[i for i in range(N) if mask >> i & 1]]
        fits[mask] = bool((rows.max(axis=0) - rows.min(axis=0) <= 2 * ε).all())
    best = [0] * 2**N
    for mask in range(1, 2**N):
        first, value, part = mask & -mask, N, mask
        while part:
            if part & first and fits[part]:
                value = min(value, 1 + best[mask ^ part])
            part = (part - 1) & mask
        best[mask] = value
    return best[-1]


@each("seed", range(12))
def test_against_exhaustion(seed):
    """Integers over 8, so that distances hit ε and 2ε exactly, and nothing is rounded."""
    rng = np.random.default_rng(seed)
    N, points = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    F = rng.integers(-8, 9, size=(N, points)) / 8
    metric = distances(F)
    for ε in (0.125, 0.25, 0.5, 0.3, 0.75, 1.0):
        proper, external = smallest_proper(metric, ε), smallest_cover(F, ε)
        assert proper_cover(metric, ε).value == pytest.approx(math.log(proper), abs=1e-12)
        assert proper_cover(metric, ε).value <= math.log(proper)
        assert scalar_cover(F, ε).value == pytest.approx(math.log(external), abs=1e-12)
        log_count = packing(F, ε).value
        assert log_count <= scalar_cover(F, ε).value <= math.log(external)
        subsets = itertools.chain.from_iterable(
            itertools.combinations(range(N), size) for size in range(1, N + 1)
        )
        largest = max(
            len(chosen)
            for chosen in subsets
            if all(metric[i, j] > 2 * ε for i, j in itertools.combinations(chosen, 2))
        )
        assert log_count == pytest.approx(math.log(largest), abs=1e-12)


def test_a_ring_needs_more_centres_than_it_packs():
    ring = np.eye(5) - np.roll(np.eye(5), 2, axis=0)
    assert packing(ring, 0.6).value == pytest.approx(math.log(2))
    assert scalar_cover(ring[:, :, None], 0.6).value == pytest.approx(math.log(3))


def test_out_of_time_the_dual_bound_is_below():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(150, 3))
    metric = distances(F)
    truth = proper_cover(metric, 0.8)
    hasty = proper_cover(metric, 0.8, seconds=1e-3)
    assert 0 <= hasty.value <= truth.value
    assert "smallest cover" in truth.method
    chosen = largest_packing(metric, 1.6, seconds=1e-3)
    assert (metric[np.ix_(chosen, chosen)][np.triu_indices(len(chosen), 1)] > 1.6).all()


def test_a_solver_that_fails_or_lies_is_not_believed(monkeypatch):
    answer = OptimizeResult(status=4, message="numbers", mip_dual_bound=None, x=np.ones(3))
    metric = np.ones((3, 3)) - np.eye(3)
    monkeypatch.setattr(exact_covers, "_solve", lambda *args: answer)
    with pytest.raises(du.DudleyError, match="solver failed"):
        proper_cover(metric, 0.5)
    assert len(largest_packing(metric, 1.0)) == 1  # its three members are only 1 apart
    answer.update(status=0, mip_dual_bound=1.0, x=np.array([1.0, 0.0, 0.0]))
    with pytest.raises(du.DudleyError, match="uncovered"):
        proper_cover(metric, 0.5)
    answer.update(status=1, mip_dual_bound=1.2, x=None)  # out of time: only what is proven
    assert proper_cover(metric, 0.5).value == pytest.approx(math.log(2))
    answer.update(mip_dual_bound=None)
    assert proper_cover(metric, 0.5).value == 0


def test_refusals():
    with pytest.raises(du.InputError):
        proper_cover(np.zeros((401, 401)), 0.1)
    with pytest.raises(du.InputError):
        proper_cover(np.array([[0.0, math.nan], [math.nan, 0.0]]), 0.1)
    with pytest.raises(du.InputError):
        scalar_cover(np.zeros((3, 2, 2)), 0.1)
    with pytest.raises(du.InputError):
        proper_cover(np.zeros((2, 2)), 0.0)
    many = np.kron(np.eye(10), np.ones((3, 1)))  # 3^10 cliques: one of each triple
    with pytest.raises(du.InputError, match="cliques"):
        exact_covers._cliques((many @ many.T == 0) | np.eye(30, dtype=bool))

"""Crowds against geometry, exhaustion and covers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

import dudley as du
from dudley.theorems.witness.crowds import in_one_ball, sparse_cover
from dudley.theorems.witness.linear_maps import linear
from dudley.theorems.witness.patterns import rows_in_crowds


def smallest_ball(points: np.ndarray) -> float:
    """The radius of the smallest ball around the points, from below: its dual, solved by scipy."""
    squares = (points**2).sum(axis=1)

    def below(λ):
        return λ @ squares - ((λ @ points) ** 2).sum()

    start = np.full(len(points), 1 / len(points))
    sums_to_1 = {"type": "eq", "fun": lambda λ: λ.sum() - 1}
    optimum = minimize(lambda λ: -below(λ), start, bounds=[(0, 1)] * len(points),
                     constraints=[sums_to_1])  # fmt: skip
    λ = np.clip(optimum.x, 0, None)
    return math.sqrt(max(below(λ / λ.sum()), 0.0))


@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_simplices_attain_rankins_bound(m):
    """m points √2 apart fit a ball of radius √(1 − 1/m), and none smaller."""
    ε = math.sqrt(1 - 1 / m)
    assert smallest_ball(np.eye(m)) == pytest.approx(ε, rel=1e-3)
    assert in_one_ball(2, ε * 1.0001) == m
    assert in_one_ball(2, ε * 0.9999) == m - 1


def test_a_ball_that_is_too_large_holds_any_number():
    assert in_one_ball(2, 1.0) is None and in_one_ball(2, 2.0) is None
    assert sparse_cover(10, 1, 1.5) == 0.0


def test_crowds_by_exhaustion():
    """No subset of the code that is larger than ``in_one_ball`` fits into a ball."""
    words = np.array([w for w in itertools.product((-1.0, 0, 1), repeat=4) if np.abs(w).sum() == 2])
    squares = ((words[:, None] - words[None]) ** 2).sum(axis=2)
    rng = np.random.default_rng(0)
    for ε in (0.75, 0.9, 1.05, 1.2, 1.35):
        for square in (2, 4, 6):
            crowd = in_one_ball(square, ε)
            if crowd is None:
                continue
            for _ in range(5):
                chosen: list[int] = []
                for i in rng.permutation(len(words)):
                    if all(squares[i, j] >= square for j in chosen):
                        chosen.append(i)
                for some in itertools.islice(itertools.combinations(chosen, crowd + 1), 4):
                    assert smallest_ball(words[list(some)]) > ε


def test_never_below_a_packing_nor_above_a_cover():
    for b, share in itertools.product((3, 64, 1000), (0.3, 0.45, 0.6, 0.7072, 0.75, 0.8, 0.95)):
        entropy = du.LinearMap((1, b), du.L11(1.0)).entropy()
        assert rows_in_crowds({"l11": 1.0}, 1, b, 1, share) <= entropy(share)
        assert linear(du.LinearMap((1, b), du.L11(1.0)), share).value <= entropy(share)


def test_strong_against_maurey():
    """At 3/4 of the radius a ball holds two of the vertices: log b, against log(2b + 1)."""
    maps = du.LinearMap((1, 1000), du.L11(1.0))
    bound = linear(maps, 0.75)
    assert bound.value == pytest.approx(math.log(1000)) and "crowds" in bound.method
    assert bound.value > 0.9 * maps.entropy()(0.75)
    rows = du.LinearMap((7, 1000), du.Row1Inf(1.0))
    assert linear(rows, 0.75, l1=True).value == pytest.approx(7 * math.log(1000))
    assert linear(rows, 0.75, l1=True).value < rows.entropy(l1=1.0)(0.75)

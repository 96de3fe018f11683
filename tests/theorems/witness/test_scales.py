"""Lower bounds at the ends of the floats, and where a proof does not reach."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dudley as du
from dudley.core.errors import InputError
from dudley.theorems.witness.exact_covers import packing
from dudley.theorems.witness.linear_maps import linear
from dudley.theorems.witness.packings import distances, greedy
from dudley.theorems.witness.scaling import lengths, near_one
from dudley.theorems.witness.suprema import BallClass, FiniteClass, OffsetBall, rademacher
from each import each

SCALES = (1e-307, 1e-200, 1.6e-162, 1e-160, 1.0, 1e160, 1e200, 1e300)


@pytest.mark.parametrize("scale", SCALES)
def test_distances_scale(scale):
    F = np.random.default_rng(0).normal(size=(6, 3, 2))
    np.testing.assert_allclose(distances(F * scale) / scale, distances(F), rtol=1e-12)
    np.testing.assert_allclose(lengths(F * scale) / scale, np.linalg.norm(F, axis=-1), rtol=1e-12)


@each("scale", SCALES)
@each("gap", [1e-30, 0.999, 1.0])
def test_members_nearer_than_2ε_share_a_centre_at_every_scale(scale, gap):
    """Squares of the differences leave the floats, or vanish; the differences do not."""
    F = np.array([[0.0], [2 * gap * scale]])
    assert greedy(F, scale).value == packing(F, scale).value == 0
    F = np.array([[0.0], [2.001 * scale]])
    assert greedy(F, scale).value == packing(F, scale).value > 0.69


def test_near_one_is_exact():
    for scale in (5e-324, *SCALES, 1.7e308):
        scaled, power = near_one(np.array([scale, -scale / 2, 0.0]))
        assert 0.5 <= scaled[0] < 1 and np.ldexp(scaled[0], power) == scale
    assert near_one(np.zeros(3))[1] == 0


@each("scale", SCALES)
@each("norm", ["l2", "op", "nuc", "l1", "linf", "row21", "col2inf"])
def test_suprema_scale(scale, norm):
    M = np.random.default_rng(1).normal(size=(4, 2, 3))
    plain, scaled = (BallClass(norm, 1.0, s * M) for s in (1.0, scale))
    before, other = (rademacher(ball, 4, ball.size).value for ball in (plain, scaled))
    assert other == pytest.approx(scale * before, rel=1e-9)


@pytest.mark.parametrize("B", [1e-200, 1e-160, 1e-3])
def test_a_tiny_ball_is_not_left(B):
    """One point x = 1: the supremum of sw − βw² over |w| ≤ B is at most B."""
    for β in (1e-3, 1e100, 1e170):
        assert rademacher(OffsetBall(B, np.ones((1, 1)), β), 1, B).value <= B


def test_a_penalty_does_not_vanish_before_its_weight_acts():
    """f = 1e-163 and β = 1e308: −βf² = −1e-18."""
    value = rademacher(FiniteClass(np.array([[1e-163]]), 1e308), 1, 1e-163).value
    assert value == pytest.approx(-1e-18, rel=1e-6) and value <= -1e-18


@pytest.mark.parametrize(
    "values", [np.zeros((0, 3)), np.zeros((3, 0)), [[math.nan]], [[1e308] * 2]]
)
def test_classes_that_are_none_are_refused(values):
    with pytest.raises(InputError, match="values"):
        FiniteClass(np.asarray(values, dtype=float))


def test_scores_are_covered_by_functions_that_are_not_bilinear():
    """±e_j in R^64 and ε = ¾: no ball holds three of them, but all e_j share a centre of scores.

    They are √2 < 2ε apart, so g(z) = (max_j z_j + min_j z_j)/2 is within 1/√2 of every z_j on the
    unit sphere. The whole ℓ1 ball needs five: ‖W‖₂ ≤ ¾, and where an entry is above 9/16 (one at
    most is), by its sign and by whether it is above ¾; no two of a part are more than 1.5 apart.
    """
    vertices = du.LinearMap((1, 64), du.L11(1.0))
    assert linear(vertices, 0.75).value > math.log(63)
    assert linear(vertices, 0.75, form="bilinear").value <= math.log(5)
    rng = np.random.default_rng(0)
    W = _sparse_members(rng, 4000)
    largest = np.take_along_axis(W, np.abs(W).argmax(axis=1)[:, None], axis=1)[:, 0]
    part = np.where(np.linalg.norm(W, axis=1) <= 0.75, 0, np.sign(largest))
    part = part * np.where(np.abs(largest) > 0.75, 2, 1)
    assert set(part) == {-2, -1, 0, 1, 2}
    for p in set(part):
        members = W[part == p]
        assert max(np.linalg.norm(members - w, axis=1).max() for w in members) <= 1.5


def _sparse_members(rng, count: int) -> np.ndarray:
    """Vectors of ℓ1 norm 1 in R^64 with two or three entries, one of them large."""
    W = np.zeros((count, 64))
    for w in W:
        places = rng.choice(4 if rng.random() < 0.8 else 64, size=3, replace=False)
        large = rng.uniform(0.4, 1.0)
        rest = (1 - large) * rng.dirichlet([0.3, 0.3])
        w[places] = np.array([large, *rest]) * rng.choice([-1.0, 1.0], size=3)
    return W

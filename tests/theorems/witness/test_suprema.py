"""Suprema of sign sums against duality and enumeration; complexities against the truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dudley as du
from dudley.core.norms import NORMS
from dudley.theorems.witness.members import draw
from dudley.theorems.witness.suprema import (
    BallClass,
    FiniteClass,
    OffsetBall,
    all_signs,
    dual,
    offset_unconstrained,
    rademacher,
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("norm", NORMS)
def test_duals_are_attained_and_not_exceeded(norm, rng):
    """No member exceeds it, and the subgradient of the dual is a member that attains it."""
    for shape in ((3, 2), (2, 4), (3, 1)):
        M = rng.normal(size=shape)
        limit = float(dual(norm, M))
        W = draw(du.ball(norm, 1.0), shape, 200, rng)
        assert (W * M).sum(axis=(1, 2)).max() <= limit * (1 + 1e-12)
        G, h = np.zeros(shape), 1e-6  # the gradient is the maximiser
        for index in np.ndindex(shape):
            E = np.zeros(shape)
            E[index] = h
            G[index] = (float(dual(norm, M + E)) - float(dual(norm, M - E))) / (2 * h)
        assert NORMS[norm](G) <= 1 + 1e-5
        assert (G * M).sum() == pytest.approx(limit, rel=1e-6)
    stack = rng.normal(size=(5, 3, 2))
    assert np.allclose(dual(norm, stack), [dual(norm, M) for M in stack])


def test_balls_are_their_dual_norms(rng):
    X, s = rng.normal(size=(7, 3)), np.where(rng.random((5, 7)) < 0.5, -1.0, 1.0)
    sums = s @ X
    assert np.allclose(BallClass("l1", 2.0, X)(s), 2 * np.abs(sums).max(axis=1))
    assert np.allclose(BallClass("l2", 2.0, X)(s), 2 * np.linalg.norm(sums, axis=1))
    assert np.allclose(BallClass("linf", 2.0, X)(s), 2 * np.abs(sums).sum(axis=1))
    Z = rng.normal(size=(7, 2))
    scores = np.einsum("na,nb->nab", X, Z)
    nuclear = np.linalg.norm(np.einsum("kn,nab->kab", s, scores), "nuc", axis=(1, 2))
    assert np.allclose(BallClass("op", 1.0, scores)(s), nuclear)
    for norm in NORMS:
        ball = BallClass(norm, 1.5, scores)
        for W in draw(du.ball(norm, 1.5), (3, 2), 60, rng):
            values = (scores * W).sum(axis=(1, 2))
            assert np.abs(values).max() <= ball.size * (1 + 1e-12)
            assert (s @ values <= ball(s) * (1 + 1e-12)).all()


def test_all_signs():
    assert {tuple(s) for s in all_signs(4)} == set(itertools.product([-1.0, 1.0], repeat=4))


def test_enumeration_is_exact(rng):
    for n in (1, 3, 8, 13):
        F = rng.choice([-1.0, -0.5, 0.0, 1.0], size=(6, n))
        truth = np.mean(
            [max(np.dot(s, f) for f in F) for s in itertools.product([-1, 1], repeat=n)]
        )
        bound = rademacher(FiniteClass(F), n, 1.0)
        assert bound.δ == 0 and bound.value <= truth / n <= bound.value + 1e-11
    orthonormal = rademacher(BallClass("l2", 1.0, np.eye(9)), 9, 1.0)
    assert orthonormal.value == pytest.approx(1 / 3)


def test_draws_come_near_and_pay():
    n, d = 600, 4
    X = np.eye(d)[np.arange(n) % d]
    ball = BallClass("l2", 1.0, X)  # every sum has square n up to its parts: E ≈ 1/√n·(1 − 1/(4d))
    bound = rademacher(ball, n, ball.size, np.random.default_rng(0), draws=3000)
    assert bound.δ == 1e-9
    drift = math.sqrt(2 * math.log(1e9) / (n * 3000))
    assert bound.value <= 1 / math.sqrt(n) <= (bound.value + drift) * 1.1
    cheap = rademacher(ball, n, ball.size, np.random.default_rng(0), draws=3000, δ=0.1)
    assert cheap.value - bound.value == pytest.approx(drift - drift * math.sqrt(1 / 9), rel=1e-6)


def test_refusals(rng):
    with pytest.raises(du.InputError):
        rademacher(FiniteClass(np.ones((1, 17))), 17, 1.0)
    for bad in ({"n": 0}, {"A": -1.0}, {"δ": 0.0}, {"draws": 0}):
        with pytest.raises(du.InputError):
            rademacher(
                **({"supremum": FiniteClass(np.ones((1, 3))), "n": 3, "A": 1.0, "rng": rng} | bad)
            )
    for bad in (lambda: OffsetBall(1.0, np.eye(2), 0.0), lambda: BallClass("l2", -1.0, np.eye(2)),
                lambda: offset_unconstrained(np.eye(2), 0.0)):  # fmt: skip
        with pytest.raises(du.InputError):
            bad()


# -- offset ------------------


@pytest.mark.parametrize("seed", range(8))
def test_offset_balls_against_duality(seed):
    """¼c(βG + λ)⁻¹c + λB² is above the supremum for every λ > 0; the least of them equals it."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 12)), int(rng.integers(1, 5))
    X, β, B = rng.normal(size=(n, d)), 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 2)
    if seed % 3 == 0:
        X[:, -1] = X[:, 0]  # a direction that costs nothing
    signs = rng.choice([-1.0, 1.0], size=(20, n))
    suprema = OffsetBall(B, X, β)(signs)
    λ = np.geomspace(1e-9, 1e5, 3000)
    C = X.T @ signs.T  # (d, 20)
    solved = np.linalg.solve(β * X.T @ X + λ[:, None, None] * np.eye(d), C)  # (3000, d, 20)
    above = ((C * solved).sum(axis=1) / 4 + λ[:, None] * B**2).min(axis=0)
    assert (suprema <= above * (1 + 1e-9)).all()
    assert (suprema >= above * (1 - 1e-3) - 1e-6 * B**2 - 1e-9).all()


def test_offset_of_all_linear_functions(rng):
    for n, d in ((6, 2), (8, 5), (5, 5)):
        X = rng.normal(size=(n, d))
        X = np.column_stack([X, X[:, 0] + X[:, -1]])  # rank d, in d + 1 columns
        supremum = offset_unconstrained(X, 0.3)
        P = X @ np.linalg.pinv(X)
        exact = np.mean([s @ P @ s for s in all_signs(n)]) / (4 * 0.3 * n)
        assert supremum.value == pytest.approx(exact) and supremum.value <= d / (1.2 * n)
        wide = rademacher(OffsetBall(1e6, X, 0.3), n, 1e6)  # a ball that holds every maximiser
        assert wide.value <= exact


def test_a_large_ball_reaches_the_unconstrained_value(rng):
    X, β = np.linalg.qr(rng.normal(size=(10, 3)))[0], 0.5
    ball = OffsetBall(10.0, X, β)
    mean = np.mean(ball(all_signs(10))) / 10
    assert mean == pytest.approx(offset_unconstrained(X, β).value, rel=1e-6)


def test_offset_of_finite_classes(rng):
    F, β, n = rng.choice([-1.0, 0.0, 2.0], size=(7, 9)), 0.25, 9
    truth = np.mean([max(s @ f - β * f @ f for f in F) for s in all_signs(n)]) / n
    bound = rademacher(FiniteClass(F, β), n, 2.0)
    assert bound.value <= truth <= bound.value + 1e-10
    draws = rademacher(FiniteClass(F, β), n, 2.0, np.random.default_rng(0), 2000)
    assert draws.value <= truth

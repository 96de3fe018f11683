"""Projections: inside, optimal against the whole ball, and nothing else moves."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize

from dudley.core.backend import torch
from dudley.core.errors import InputError, UnknownName
from dudley.core.norms import NORMS, norm_named
from dudley.train.optimise.balls import WeightBall, _fits, choose_names, project
from dudley.train.optimise.penalties import Penalty
from each import each

SHAPES = [(4, 7), (7, 4), (1, 5), (5, 1)]
SLACK = 1e-13  # of float64


def drawn(shape, E=6, dtype=torch.float64, seed=0):
    """Matrices of several sizes, with ties and zeros among their entries."""
    W = torch.randn(E, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    W = W * torch.logspace(-2, 2, E).reshape(-1, 1, 1)
    W[4] = W[4].round()
    W[2, :, 0] = 0
    return W.to(dtype)


# max of ⟨D, Z⟩ over norm(Z) ≤ 1
DUAL = {
    "l11": lambda D: np.abs(D).max(),
    "linf": lambda D: np.abs(D).sum(),
    "row1inf": lambda D: np.abs(D).max(axis=1).sum(),
    "col1inf": lambda D: np.abs(D).max(axis=0).sum(),
    "row21": lambda D: np.linalg.norm(D, axis=1).max(),
    "row2inf": lambda D: np.linalg.norm(D, axis=1).sum(),
    "col21": lambda D: np.linalg.norm(D, axis=0).max(),
    "col2inf": lambda D: np.linalg.norm(D, axis=0).sum(),
    "fro": lambda D: np.linalg.norm(D),
    "nuc": lambda D: np.linalg.norm(D, 2),
    "op": lambda D: np.linalg.norm(D, "nuc"),
}


def test_every_norm_has_a_projection():
    assert set(DUAL) == set(NORMS)


@each("norm", NORMS)
def test_dual_norms_bound_and_are_reached(norm):
    """The oracle of the next test: ⟨D, Z⟩ ≤ dual(D), nearly attained by some Z of the ball."""
    D = drawn((3, 4))[3].numpy()
    rng = np.random.default_rng(0)
    best, size = -np.inf, DUAL[norm](D)
    for Z in [*rng.normal(size=(300, 3, 4)), *_candidates(D)]:
        best = max(best, float((D * Z).sum() / norm_named(norm)(Z)))
    assert best <= size * (1 + 1e-12)
    assert best >= size * (1 - 1e-9)


def _candidates(D):
    """Maximisers of a linear form over the balls."""
    U, _, Vh = np.linalg.svd(D, full_matrices=False)
    yield from (D, np.sign(D), U @ Vh, np.outer(U[:, 0], Vh[0]))
    yield D / np.linalg.norm(D, axis=1, keepdims=True)
    yield D / np.linalg.norm(D, axis=0, keepdims=True)
    largest = np.abs(D)
    yield D * (largest == largest.max())
    yield np.sign(D) * (largest == largest.max(axis=1, keepdims=True))
    yield np.sign(D) * (largest == largest.max(axis=0, keepdims=True))
    for axis in (0, 1):
        sizes = np.linalg.norm(D, axis=axis, keepdims=True)
        yield D * (sizes == sizes.max())


@each("norm", NORMS)
@each("shape", SHAPES)
@each("radius", [0.0, 0.3, 5.0])
def test_optimal_against_the_whole_ball(norm, shape, radius):
    """⟨W − P, Z − P⟩ ≤ 0 for all Z: R · dual(W − P) ≤ ⟨W − P, P⟩."""
    W = drawn(shape)
    P = project(W, norm, radius)
    outside = 0
    for w, p in zip(W.numpy(), P.numpy(), strict=True):
        assert norm_named(norm)(p) <= radius * (1 + SLACK)
        excess = radius * DUAL[norm](w - p) - float(((w - p) * p).sum())
        assert excess <= 1e-12 * (1 + np.linalg.norm(w)) * max(radius, 1)
        outside += norm_named(norm)(w) > radius
    assert outside >= 1


@each("norm", NORMS)
def test_just_outside_is_outside(norm):
    W = drawn((4, 7))
    radii = [norm_named(norm)(w) * (1 - 1e-9) for w in W.numpy()]
    P = project(W, norm, torch.tensor(radii, dtype=torch.float64))
    for w, p, radius in zip(W.numpy(), P.numpy(), radii, strict=True):
        assert norm_named(norm)(p) <= radius * (1 + SLACK)
        assert 0 < np.linalg.norm(w - p) <= 2e-9 * np.linalg.norm(w) * 7


@each("norm", NORMS)
def test_what_lies_inside_stays_bit_by_bit(norm):
    W = drawn((4, 7), dtype=torch.float32)
    sizes = [norm_named(norm)(w) for w in W.numpy()]
    P = project(W, norm, sizes[3] * (1 + 1e-6))
    assert torch.equal(P[:4], W[:4]) and not torch.equal(P[4], W[4])


@each("norm", NORMS)
def test_float32_is_inside_up_to_the_stated_slack(norm):
    W = drawn((24, 40), E=12, dtype=torch.float32)
    P = project(W, norm, 0.7)
    assert P.dtype == torch.float32
    slack = 2.0**-24 * (np.sqrt(24) if norm in ("op", "nuc") else 1) + 1e-13
    assert max(norm_named(norm)(p) for p in P.numpy()) <= 0.7 * (1 + slack)
    again = project(P, norm, 0.7)
    torch.testing.assert_close(again, P, rtol=1e-6, atol=1e-7)


@each("norm", NORMS)
def test_neighbours_do_not_matter_and_radii_may_differ(norm):
    W = drawn((4, 7))
    radii = torch.tensor([0.1, 0.5, 1.0, 2.0, 3.0, 0.0])
    together = project(W, norm, radii)
    for e in range(6):
        alone = project(W[e : e + 1], norm, float(radii[e]))[0]
        torch.testing.assert_close(together[e], alone, rtol=1e-12, atol=1e-13)


@each("norm", NORMS)
def test_what_is_not_finite_stays_and_harms_nobody(norm):
    W = drawn((4, 7))
    before = project(W, norm, 0.5)
    W[0, 0, 0], W[5, 1, 1] = torch.nan, torch.inf
    P = project(W, norm, 0.5)
    assert torch.equal(P[1:5], before[1:5])
    torch.testing.assert_close(P[[0, 5]], W[[0, 5]], rtol=0, atol=0, equal_nan=True)


def test_against_a_quadratic_programme():
    """min ½‖U − V − W‖² over U, V ≥ 0 with ΣU + ΣV ≤ R, by a general solver."""
    W = drawn((2, 3), E=6)[3].numpy()
    R = 0.4 * np.abs(W).sum()

    def objective(x):
        D = x[:6] - x[6:] - W.ravel()
        return D @ D / 2, np.concatenate([D, -D])

    nearest = minimize(
        objective,
        np.full(12, R / 24),
        jac=True,
        bounds=[(0, None)] * 12,
        constraints={"type": "ineq", "fun": lambda x: R - x.sum(), "jac": lambda x: -np.ones(12)},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    P = project(torch.tensor(W)[None], "l11", R)[0].numpy()
    np.testing.assert_allclose(P.ravel(), nearest.x[:6] - nearest.x[6:], atol=1e-6)


@pytest.mark.parametrize("norm", ["fro", "l11", "op"])
def test_around_the_start(norm):
    W, centre = drawn((4, 7)), drawn((4, 7), seed=1)
    ball = WeightBall(norm, 0.8, around="start")
    P = ball.project(W, centre)
    torch.testing.assert_close(P - centre, project(W - centre, norm, 0.8), rtol=0, atol=1e-12)
    near = centre + 1e-3
    assert torch.equal(ball.project(near, centre), near)
    spoilt = W.clone()
    spoilt[0, 0, 0] = torch.nan
    torch.testing.assert_close(ball.project(spoilt, centre)[0], spoilt[0], equal_nan=True)


def test_names_are_chosen_whole_or_by_their_last_part():
    weights = {f"weights.{k}.{n}": torch.zeros(1, 1, 1) for k in (0, 1) for n in ("W_Q", "W_K")}
    assert choose_names("W_Q", weights) == ["weights.0.W_Q", "weights.1.W_Q"]
    assert choose_names("*.1.W_*", weights) == ["weights.1.W_Q", "weights.1.W_K"]
    assert len(choose_names("*", weights)) == 4
    with pytest.raises(UnknownName, match="did you mean weights"):
        choose_names("weights.3.W_Q", weights)


@given(st.text("ab.", max_size=6), st.text("ab.*", max_size=5))
def test_patterns_are_those_of_a_shell(name, pattern):
    assert _fits(name, pattern) == fnmatchcase(name, pattern)


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: WeightBall("col12", 1.0), UnknownName),
        (lambda: WeightBall("l11", -1.0), InputError),
        (lambda: WeightBall("l11", float("nan")), InputError),
        (lambda: WeightBall("l11", 1.0, around="origin"), InputError),
        (lambda: Penalty("op", 1.0), InputError),
        (lambda: Penalty("l11", float("inf")), InputError),
    ],
)
def test_nonsense_is_refused(build, error):
    with pytest.raises(error):
        build()

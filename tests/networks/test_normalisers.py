"""Normalisers: mass, and the Lipschitz constant from ℓ∞ (scores) to ℓ1 (weights) on a range."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from dudley.core.errors import InputError
from dudley.core.magnitude import Magnitude
from dudley.networks.head import causal_mask
from dudley.networks.normalisers import (
    NORMALISERS,
    NormalisedLinear,
    Sigmoid,
    Softmax,
    Sparsemax,
    normaliser,
)

torch.set_num_threads(1)
NAMES = sorted(set(NORMALISERS) - {"linear"})  # linear attention knows queries and keys, not scores
each = pytest.mark.parametrize("name", NAMES)


def scores_in_range(A, ρ, T, count, rng):
    """Random scores in [−ρ, ρ], among them extreme, flat and nearly flat ones."""
    u = rng.random((count, T))
    u[: count // 4] = np.round(u[: count // 4])
    u[count // 4 : count // 2] = rng.random((count // 4, 1)) + 1e-3 * u[: count // 4]
    u[-2:] = 0.0
    u[-3] = 0.5
    s = ρ * (2 * np.clip(u, 0, 1) - 1)
    if isinstance(A, Sigmoid):
        s[-4] = np.clip(math.log(T), -ρ, ρ)
    return s


def check_normaliser(A, ρ, T, count=400, seed=0) -> float:
    """Raise if mass or slope exceeds what is declared; the share of the slope that is attained.

    Slopes are exact: the Jacobian's norm from ℓ∞ to ℓ1 is the largest ‖Jv‖₁ over sign vectors v.
    """
    rng = np.random.default_rng(seed)
    s = scores_in_range(A, ρ, T, count, rng)
    m = float(A.mass(Magnitude.of(ρ), T))
    L = float(A.lipschitz(Magnitude.of(ρ), T))
    mass = np.abs(A.apply(s)).sum(-1).max()
    assert mass <= m * (1 + 1e-12), f"mass {mass} above {m}"
    jacobian = torch.func.vmap(torch.func.jacrev(A.apply))(torch.tensor(s)).numpy()
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=T)))
    slope = np.abs(jacobian @ signs.T).sum(1).max()
    other = scores_in_range(A, ρ, T, count, rng)
    moved = np.abs(s - other).max(-1)
    changed = np.abs(A.apply(s) - A.apply(other)).sum(-1)[moved > 0] / moved[moved > 0]
    slope = max(slope, changed.max())
    assert slope <= L * (1 + 1e-9), f"slope {slope} above {L}"
    return slope / L


@each
@pytest.mark.parametrize("T", [2, 3, 4, 7])
@pytest.mark.parametrize("ρ", [0.6, 2.0, 20.0])
def test_mass_and_slope(name, T, ρ):
    check_normaliser(normaliser(name), ρ, T)


def test_slopes_that_are_attained():
    assert check_normaliser(Softmax(), 1.0, 4) > 0.999  # 4q(1−q) at q = 1/2
    assert check_normaliser(Softmax(2.0), 1.0, 4) < 0.501
    assert check_normaliser(Sparsemax(), 0.1, 4) > 0.999  # T, for even T
    assert check_normaliser(Sparsemax(), 0.1, 7) > 0.999  # T − 1/T, for odd T
    assert check_normaliser(Sigmoid(), 20.0, 6) > 0.999  # T/4 once e^ρ ≥ T
    assert check_normaliser(Sigmoid(), 0.1, 6) > 0.999  # T·a(1−a) below


@pytest.mark.parametrize(
    "cls, method, wrong",
    [
        (Softmax, "lipschitz", 0.5),
        (Softmax, "mass", 0.9),
        (Sparsemax, "lipschitz", 1.0),
        (Sigmoid, "lipschitz", 0.25),
        (Sigmoid, "mass", 1.0),
    ],
)
def test_a_wrong_constant_is_seen(monkeypatch, cls, method, wrong):
    monkeypatch.setattr(cls, method, lambda *_: Magnitude.of(wrong))
    with pytest.raises(AssertionError):
        check_normaliser(cls(), 20.0, 6)


@given(
    st.sampled_from(NAMES),
    st.lists(st.tuples(*[st.floats(0.25, 6.0)] * 2), min_size=1, max_size=8),
    st.sampled_from([1.0, -1.0]),
)
def test_finite_moves(name, pairs, sign):
    A, T = normaliser(name), len(pairs)
    s, t = sign * np.array(pairs).T
    L = float(A.lipschitz(Magnitude.of(6.0), T))
    assert np.abs(A.apply(s) - A.apply(t)).sum() <= L * np.abs(s - t).max() + 1e-12
    if not isinstance(A, Sigmoid):
        assert math.isclose(A.apply(s).sum(), 1.0, rel_tol=1e-12)
        assert (A.apply(s) >= 0).all()


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=7))
def test_sparsemax_is_the_projection_onto_the_simplex(scores):
    """Its optimality condition: (s − p)·(e_j − p) ≤ 0 at every corner e_j."""
    s = np.array(scores)
    p = Sparsemax().apply(s)
    assert math.isclose(p.sum(), 1, rel_tol=1e-12) and (p >= 0).all()
    assert ((s - p) - (s - p) @ p <= 1e-9).all()


@each
def test_masks(name):
    A, rng = normaliser(name), np.random.default_rng(0)
    s = rng.uniform(0.3, 2.0, (3, 5, 5))
    allowed = causal_mask(s)
    assert allowed.tolist() == np.tril(np.ones((5, 5), bool)).tolist()
    weights = A.apply(s, allowed)
    assert (weights[..., ~allowed] == 0).all()
    for t in range(5) if not isinstance(A, Sigmoid) else ():  # as if later tokens were not there
        np.testing.assert_allclose(weights[:, t, : t + 1], A.apply(s[:, t, : t + 1]), atol=1e-13)
    if isinstance(A, Sigmoid):
        np.testing.assert_allclose(weights, A.apply(s) * allowed, atol=1e-15)
    low = s.copy()
    low[..., ~allowed] = 1e6  # what is masked must not matter
    np.testing.assert_allclose(A.apply(low, allowed), weights, atol=1e-12)


def test_causal_mask_of_fewer_queries_than_keys():
    assert causal_mask(np.zeros((2, 4))).tolist() == [[True, True, True, False], [True] * 4]
    assert causal_mask(torch.zeros(1, 3)).tolist() == [[True] * 3]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["softmax", "sparsemax", "sigmoid"])
def test_huge_scores_give_no_warning_and_no_nan(name):
    s = np.array([[-1e6, 0.0, 1e6], [-2e3, -2e3, -2e3]])
    weights = normaliser(name).apply(s)
    assert np.isfinite(weights).all() and (weights >= 0).all() and (weights <= 1).all()
    x = torch.tensor(s, requires_grad=True)
    normaliser(name).apply(x).sum().backward()
    assert x.grad is not None and torch.isfinite(x.grad).all()


@pytest.mark.parametrize("log_ρ", [-800.0, 800.0])
def test_sigmoid_facts_on_extreme_ranges(log_ρ):
    ρ = Magnitude(log_ρ)
    mass = float(Sigmoid().mass(ρ, 8.0))
    assert mass == pytest.approx(8.0 if log_ρ > 0 else 8 / 9)
    assert float(Sigmoid().lipschitz(ρ, 8.0)) <= 2.0 + 1e-12


def check_linear_attention(slope: float = 1.0) -> float:
    """‖Δa‖₁ ≤ ‖Δq‖ + max_t ‖Δk_t‖, whatever the norms; the largest share that is attained."""
    A, rng, worst = NormalisedLinear(), np.random.default_rng(0), 0.0
    for k, size, step in itertools.product((1, 2, 4), (0.3, 3.0, 30.0), (1e-4, 0.1, 3.0)):
        q, Δq = rng.normal(size=(2, 2000, 1, k)) * np.array([size, step])[:, None, None, None]
        key, Δk = rng.normal(size=(2, 2000, 3, k)) * np.array([size, step])[:, None, None, None]
        Δq[:500], Δk[500:1000] = 0.0, 0.0
        Δk[:500] = np.sign(Δk[:500]) * step
        weights = [
            A.apply((A.features(q + t * Δq) * A.features(key + t * Δk)).sum(-1)) for t in (0.0, 1.0)
        ]
        moved = np.linalg.norm(Δq, axis=-1)[:, 0] + np.linalg.norm(Δk, axis=-1).max(1)
        ratio = (np.abs(weights[1] - weights[0]).sum(-1) / moved).max()
        assert ratio <= slope * (1 + 1e-9), f"slope {ratio} above {slope}"
        worst = max(worst, ratio)
    return worst


def test_linear_attention_moves_with_queries_and_keys():
    assert check_linear_attention() > 0.5
    with pytest.raises(AssertionError):
        check_linear_attention(0.4)


def test_refusals():
    with pytest.raises(InputError):
        Softmax(1.5)
    with pytest.raises(InputError):
        normaliser(2)

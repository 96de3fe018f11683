"""Penalties: their values, and proximal points that satisfy the optimality condition."""

from __future__ import annotations

import numpy as np
import pytest

from dudley.core.backend import torch
from dudley.core.norms import norm_named
from dudley.train.optimise.constrained import Constrained
from dudley.train.optimise.descent import GradientDescent
from dudley.train.optimise.penalties import SUMS, Penalty

DUAL = {
    "l11": lambda D: np.abs(D).max(),
    "row21": lambda D: np.linalg.norm(D, axis=1).max(),
    "col21": lambda D: np.linalg.norm(D, axis=0).max(),
    "fro": lambda D: np.linalg.norm(D),
    "nuc": lambda D: np.linalg.norm(D, 2),
}


def drawn(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64)


@pytest.mark.parametrize("norm", SUMS)
def test_proximal_points_are_optimal(norm):
    """W − P ∈ τ∂‖P‖: dual(W − P) ≤ τ and ⟨W − P, P⟩ = τ‖P‖, with τ = rate · strength."""
    W, rate = drawn(5, 4, 6), torch.tensor([0.0, 0.1, 1.0, 3.0, 100.0])
    P = Penalty(norm, 0.5).proximal(W, rate)
    for w, p, τ in zip(W.numpy(), P.numpy(), (0.5 * rate).double().numpy(), strict=True):
        assert DUAL[norm](w - p) <= τ + 1e-12
        assert ((w - p) * p).sum() == pytest.approx(τ * norm_named(norm)(p), abs=1e-11)
    assert not P[4].any() and P[1].any()


@pytest.mark.parametrize("norm", SUMS)
def test_values_and_their_gradients(norm):
    weights = {"a.W": drawn(3, 4, 6).requires_grad_(), "b.W": drawn(3, 2, 2, seed=1)}
    weights["c.bias"] = drawn(3, 1, 2, seed=2)
    value = Penalty(norm, 0.5, "W").value(weights)
    for e in range(3):
        norms = [norm_named(norm)(weights[name][e].detach().numpy()) for name in ("a.W", "b.W")]
        assert float(value[e].detach()) == pytest.approx(0.5 * sum(norms), rel=1e-12)
    (grad,) = torch.autograd.grad(value.sum(), weights["a.W"])
    for g, w in zip(grad.numpy(), weights["a.W"].detach().numpy(), strict=True):
        assert (g * w).sum() == pytest.approx(0.5 * norm_named(norm)(w), rel=1e-10)  # homogeneous
        assert DUAL[norm](g) <= 0.5 * (1 + 1e-12)


def test_what_is_not_finite_stays():
    W = drawn(2, 3, 3)
    before = Penalty("nuc", 0.5).proximal(W, torch.ones(2))
    W[0, 1, 1] = torch.nan
    P = Penalty("nuc", 0.5).proximal(W, torch.ones(2))
    torch.testing.assert_close(P[0], W[0], equal_nan=True)
    torch.testing.assert_close(P[1], before[1])


def test_proximal_descent_solves_the_lasso():
    """min ½‖Aw − b‖² + λ‖w‖₁ by 3,000 steps: the gradient is −λ sign(w) where w ≠ 0, ≤ λ else."""
    A, b, λ = drawn(2, 12, 8), drawn(2, 12, 1, seed=1), 3.0
    weights = {"w": torch.zeros(2, 8, 1, dtype=torch.float64)}
    lasso = Constrained(GradientDescent(), penalties=(Penalty("l11", λ),))
    state, alive = lasso.start(weights), torch.tensor([True, True])
    rate = 1 / torch.linalg.matrix_norm(A, 2) ** 2
    for _ in range(3000):
        grads = {"w": A.mT @ (A @ weights["w"] - b)}
        lasso.update(weights, grads, state, rate, alive, {})
    g, w = A.mT @ (A @ weights["w"] - b), weights["w"]
    assert 0 < int((w == 0).sum()) < 16
    torch.testing.assert_close(g[w != 0], -λ * w[w != 0].sign(), rtol=1e-9, atol=0)
    assert float(g.abs().max()) <= λ * (1 + 1e-9)

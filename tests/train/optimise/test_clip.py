"""Clipping is torch's, trial by trial."""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.train.optimise.clip import clip


def drawn(E=5):
    g = torch.Generator().manual_seed(0)
    shapes = {"a": (3, 4), "b": (1, 2)}
    grads = {n: torch.randn(E, *s, generator=g).double() for n, s in shapes.items()}
    scale = torch.logspace(-3, 3, E).reshape(-1, 1, 1)
    return {name: G * scale for name, G in grads.items()}


def test_as_torch_clips_one_model():
    grads, before = drawn(), drawn()
    norms = clip(grads, 0.5)
    assert (norms < 0.5).any() and (norms > 0.5).any()
    for e in range(5):
        parameters = [torch.nn.Parameter(torch.zeros_like(G[e])) for G in before.values()]
        for W, G in zip(parameters, before.values(), strict=True):
            W.grad = G[e].clone()
        total = torch.nn.utils.clip_grad_norm_(parameters, 0.5)
        torch.testing.assert_close(norms[e], total, rtol=1e-12, atol=0)
        for W, G in zip(parameters, grads.values(), strict=True):
            torch.testing.assert_close(G[e], W.grad, rtol=1e-12, atol=0)


def test_a_gradient_that_is_not_finite_spoils_its_own_trial_only():
    grads, before = drawn(), drawn()
    grads["a"][2, 0, 0] = torch.inf
    clip(grads, 0.5)
    clip(before, 0.5)
    others = [0, 1, 3, 4]
    assert all(torch.equal(grads[n][others], before[n][others]) for n in grads)

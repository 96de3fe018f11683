"""The impossibility proofs: their instances, their identities, and a search that finds no head."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from dudley.theorems.witness.counterexamples.no_head import (
    OvershadowedBag,
    Tetrahedron,
    least_possible,
)

torch.set_num_threads(1)
TETRA = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / math.sqrt(3)
P = np.array([TETRA[0], TETRA[1], -TETRA[2], -TETRA[3]])


def test_the_positions_are_as_coherent_as_stated():
    gram = P @ P.T
    np.testing.assert_allclose(np.diag(gram), 1)
    np.testing.assert_allclose(np.abs(gram[~np.eye(4, dtype=bool)]), 1 / 3)
    np.testing.assert_allclose(P[0] + P[1], P[2] + P[3], atol=1e-15)


def test_the_bag_is_as_coherent_as_stated():
    Δ = OvershadowedBag().Δ
    v1, x = np.eye(4)[0], np.eye(4)[3]
    v2 = np.array([-Δ, math.sqrt(1 - Δ**2), 0, 0])
    x = x * math.sqrt(1 - 2 * Δ**2 / (1 - Δ))
    v3, v4 = (Δ / (1 - Δ) * (v1 + v2) + sign * x for sign in (1, -1))
    V = np.array([v1, v2, v3, v4])
    gram = V @ V.T
    np.testing.assert_allclose(np.diag(gram), 1)
    assert np.abs(gram[~np.eye(4, dtype=bool)]).max() <= Δ + 1e-12
    np.testing.assert_allclose((v3 + v4) / 2, Δ / (1 - Δ) * (v1 + v2), atol=1e-15)


@pytest.mark.parametrize("witness", [Tetrahedron(), OvershadowedBag()])
def test_the_bound_is_where_contradictions_stop(witness):
    e = witness.lower_bound()
    assert witness.γ / 4 < e < 0.25
    grid = np.linspace(0, 0.249, 500)
    assert [witness.contradicts(x) for x in grid] == [bool(x < e) for x in grid]
    assert least_possible(lambda x: x < 0.1, 1.0) == pytest.approx(0.1)


def test_fewer_tokens_refute_nothing():
    assert OvershadowedBag(T=10**6).lower_bound() < 0.225


def test_a_search_finds_no_head_on_the_tetrahedron():
    """Minimise the largest error over all heads with ‖u‖ ≤ 2, from many starts."""
    bits = np.array(list(itertools.product((0, 1), repeat=4)))
    rows = np.zeros((16, 5, 6))
    rows[:, :4, :3] = P
    rows[np.arange(16)[:, None], np.arange(4), 3 + bits] = 1.0
    rows[:, 4, 5] = 1.0
    X = torch.tensor(rows)
    wanted = torch.tensor(bits[:, 0] + bits[:, 1] - 1.0)
    generator = torch.Generator().manual_seed(0)
    κ = (8 * torch.randn(64, 6, generator=generator, dtype=torch.double)).requires_grad_()
    u = torch.randn(64, 6, generator=generator, dtype=torch.double).requires_grad_()
    optimiser = torch.optim.Adam([κ, u], 0.1)
    best = math.inf
    for _ in range(400):
        value = 2 * u / torch.linalg.norm(u, dim=1, keepdim=True).clamp(min=2)
        weights = torch.softmax(torch.einsum("btd,hd->hbt", X, κ), dim=-1)
        heads = torch.einsum("hbt,btd,hd->hb", weights, X, value)
        worst = (heads - wanted).abs().amax(dim=1)
        best = min(best, worst.min().item())
        optimiser.zero_grad()
        worst.sum().backward()
        optimiser.step()
    assert Tetrahedron().lower_bound() < best < 1.0

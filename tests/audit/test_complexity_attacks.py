"""Attacks on Rademacher complexities: they hold on what can be enumerated, and they have power."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import planted
from dudley.audit.attacks.complexities import Tower
from dudley.audit.instances import mean_sign
from dudley.theorems.trauger2024 import peeling
from dudley.theorems.witness.suprema import FiniteClass, all_signs, rademacher
from each import each

FAMILY = ("complexities",)


def test_a_score_term_without_the_square_of_the_radius_is_reported(monkeypatch):
    """Theorem 4.1 with log N_QK(ε) where log N_QK(ε/B_x²) belongs."""

    def without(inner, log_weight, count, log_A):
        return choices(inner, 0.0, count, log_A)

    choices = peeling.Choices
    monkeypatch.setattr(peeling, "Choices", without)
    for id in ("trauger2024/theorem-4.1", "trauger2024/corollary-4.1.1"):
        assert planted.broken(planted.rows(FAMILY, id), "derived")


@each("n", range(1, 15))
def test_mean_of_signs_by_enumeration(n):
    assert mean_sign(n) == np.abs(all_signs(n).sum(axis=1)).mean() / n


def test_mean_of_many_signs_stays_below():
    for k in (501, 5000, 40_000):
        exact = math.comb(2 * k, k) * 10**20 // 4**k / 10**20
        assert 0.999 * exact < mean_sign(2 * k) < exact


def members(tower: Tower) -> np.ndarray:
    """All members of a small tower, (N, n)."""
    blocks = [(a, b) for a, m, b in tower.parts for _ in range(m)]
    rows = itertools.product([-1.0, 1.0], repeat=len(blocks))
    return np.array(
        [
            np.concatenate([s * a * np.ones(b) for s, (a, b) in zip(r, blocks, strict=True)])
            for r in rows
        ]
    )


TOWERS = (
    Tower(((1.0, 3, 2),)),
    Tower(((1.0, 1, 3), (0.5, 2, 1))),
    Tower(((2.0, 1, 1), (1.9, 1, 4))),
)


@pytest.mark.parametrize("tower", TOWERS)
def test_a_tower_has_the_complexity_it_says(tower):
    finite = FiniteClass(members(tower))
    exact = rademacher(finite, tower.n, finite.size).value
    assert tower.complexity == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("tower", TOWERS)
def test_a_tower_has_the_covers_it_says(tower):
    """The smallest proper cover, by trying all sets of members."""
    F = members(tower)
    D = np.abs(F[:, None] - F[None]).max(axis=2)
    needed = []
    for ε in sorted({*np.unique(D)[1:]} | {0.3, 0.7}):
        inside = ε * (1 - 1e-12) >= D
        size = next(
            k
            for k in range(1, len(F) + 1)
            for chosen in itertools.combinations(range(len(F)), k)
            if inside[list(chosen)].any(axis=0).all()
        )
        needed.append(ε**2 * math.log(size))
        assert math.log(size) <= tower.C / ε**2 * (1 + 1e-9)
    assert max(needed) == pytest.approx(tower.C)

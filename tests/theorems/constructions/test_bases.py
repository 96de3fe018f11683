"""Bases have the coherence that was asked for, and the sharpness example is sharp."""

import numpy as np
import pytest

from dudley.core.errors import InputError
from dudley.theorems.constructions.bases import almost_orthonormal, inseparable, random_unit
from dudley.theorems.constructions.selector import dual, dual_gap
from each import each


@each("pattern", ["worst", "equal", "random"])
@each("coherence", [0.0, 0.01, 0.05, 0.1])
@each("count", [2, 16, 150])
def test_coherence_is_the_one_requested(pattern, coherence, count):
    basis = almost_orthonormal(count, coherence, (0, 1), pattern, seed=3)
    assert np.allclose(np.linalg.norm(basis.vectors, axis=1), 1, atol=1e-12)
    assert basis.coherence == pytest.approx(coherence, abs=1e-12)


@pytest.mark.parametrize("s", [2, 3, 4, 6])
def test_the_worst_pattern_exists_up_to_its_limit(s):
    limit = 1 / (2 * s - 3) if s > 2 else 0.9
    almost_orthonormal(60, 0.999 * limit, tuple(range(s)), "worst")


def test_inner_products_that_no_vectors_have_are_refused():
    with pytest.raises(InputError, match="eigenvalue"):
        almost_orthonormal(40, 0.24, tuple(range(4)), "worst")
    with pytest.raises(InputError, match="coherence"):
        almost_orthonormal(4, 1.0)


def test_random_unit_vectors_are_measured():
    basis = random_unit(50, 30, seed=1)
    gram = basis.vectors @ basis.vectors.T
    assert basis.coherence == np.abs(gram - np.eye(50)).max()


@pytest.mark.parametrize("s", [2, 3, 4])
@pytest.mark.parametrize("share", [0.2, 0.9])
def test_the_dual_key_has_the_gap_and_norm_that_are_proved(s, share):
    Δ = share / (2 * s - 1)
    for seed in range(5):
        for pattern in ("worst", "random", "equal"):
            V = almost_orthonormal(12, Δ, tuple(range(s)), pattern, seed).vectors
            u = dual(V[:s]).sum(0)
            scores = V @ u
            assert np.allclose(scores[:s], 1, atol=1e-9)
            assert scores[s:].max() <= 1 - dual_gap(s, Δ) + 1e-9
            assert u @ u <= s / (1 - (s - 1) * Δ) + 1e-9


def test_the_dual_gap_is_refused_where_it_closes():
    with pytest.raises(InputError, match=r"1/\(2s−1\)"):
        dual_gap(3, 0.2)


@pytest.mark.parametrize("s, Δ", [(2, 0.34), (2, 0.49), (3, 0.2), (4, 0.15), (4, 0.24)])
def test_beyond_the_condition_no_key_separates(s, Δ):
    """Δ < 1/s holds, and yet the means of the two halves agree: every key fails."""
    basis = inseparable(s, Δ)
    V = basis.vectors
    assert basis.coherence <= Δ + 1e-12 < 1 / s
    assert np.allclose(V[:s].mean(0), V[s:].mean(0), atol=1e-9)
    keys = np.random.default_rng(0).standard_normal((200, 2 * s))
    scores = keys @ V.T
    assert (scores[:, :s].min(1) <= scores[:, s:].max(1) + 1e-12).all()


def test_the_sharpness_example_has_its_range():
    with pytest.raises(InputError):
        inseparable(3, 0.1)

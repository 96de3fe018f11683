"""Almost orthonormal vectors with a requested coherence Δ = max_{i≠j} |v_i·v_j|, measured.

A basis is made from its Gram matrix G = I + ΔA, A a symmetric matrix of signs with zero diagonal:
the rows of G^{1/2} are unit vectors with these inner products. Three patterns of signs:

``worst``   the relevant vectors I form a star (the first has +Δ with the others, which have −Δ
            among themselves), and every other pair has +Δ. Row sums of G inside I then differ by
            2(s−2)Δ, so keys that add up the v_i score the relevant positions unevenly. G is
            positive semidefinite for any count as soon as Δ ≤ 1/(2s−3): on the span of I the
            Schur complement of the rest is at least G_I − Δ11ᵀ, whose smallest eigenvalue is
            1 − Δ − 2Δ(s−2).
``equal``   every pair has +Δ; positive semidefinite for any count and any Δ ≤ 1.
``random``  random signs inside blocks of at most 1 + 1/Δ vectors (Gershgorin), zero between;
            the relevant ones come first, so they share a block.

Edelman, Goel, Kakade & Zhang, appendix B.1: "approximately orthonormal basis".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dudley.core.errors import InputError, UnknownName

PATTERNS = ("worst", "equal", "random")


@dataclass(frozen=True)
class Basis:
    """Unit vectors, the rows of ``vectors``, with their measured coherence."""

    vectors: np.ndarray  # (count, dim)

    @property
    def coherence(self) -> float:
        """max_{i≠j} |v_i·v_j|."""
        gram = self.vectors @ self.vectors.T
        np.fill_diagonal(gram, 0.0)
        return float(np.abs(gram).max(initial=0.0))


def almost_orthonormal(
    count: int,
    coherence: float = 0.0,
    relevant: Sequence[int] = (),
    pattern: str = "worst",
    seed: int = 0,
) -> Basis:
    """``count`` unit vectors of R^count whose coherence is the one requested (if count > 1).

    >>> round(almost_orthonormal(10, 0.05, relevant=(2, 5, 7)).coherence, 12)
    0.05
    """
    if not 0 <= coherence < 1:
        raise InputError("coherence", "a number in [0, 1)", coherence)
    if pattern not in PATTERNS:
        raise UnknownName("pattern of signs", pattern, PATTERNS)
    if coherence == 0:
        return Basis(np.eye(count))
    if count == 1:
        return Basis(np.eye(1))
    order = [*relevant, *(t for t in range(count) if t not in set(relevant))]
    signs = np.zeros((count, count))
    signs[np.ix_(order, order)] = _signs(count, len(relevant), coherence, pattern, seed)
    return Basis(_root(np.eye(count) + coherence * signs, coherence))


def random_unit(count: int, dim: int, seed: int = 0) -> Basis:
    """Independent uniform unit vectors of R^dim: coherence about √(4 log(count)/dim), measured.

    >>> basis = random_unit(1000, 200)
    >>> basis.vectors.shape, basis.coherence < 0.5
    ((1000, 200), True)
    """
    rows = np.random.default_rng(seed).standard_normal((count, dim))
    return Basis(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def inseparable(s: int, coherence: float) -> Basis:
    """2s vectors, 1/(2s−1) ≤ Δ < 1/s: no key whatsoever scores the first s above all the others.

    The first s have inner products −Δ; their mean m has norm² c = (1−(s−1)Δ)/s ≤ Δ. The others are
    m + w_t with w_t ⟂ v_1, …, v_s the corners of a centred simplex, so they have inner product c
    with the first s, c − (1−c)/(s−1) ∈ [−Δ, Δ] with each other, and the same mean m. Hence for
    every key q the mean of q·v_i over the first s equals the mean over the others:

        min_{i ≤ s} q·v_i ≤ max_{t > s} q·v_t.

    So the condition Δ < 1/(2s−1) of the dual-basis key is sharp, while the printed Δ < 1/s is not
    enough for any choice of W_Q and W_K.

    >>> V = inseparable(2, 0.4).vectors
    >>> bool(np.allclose(V[:2].sum(0), V[2:].sum(0)))
    True
    """
    if s < 2 or not 1 / (2 * s - 1) <= coherence < 1 / s:
        raise InputError("coherence", f"s ≥ 2 and a number in [1/{2 * s - 1}, 1/{s})", coherence)
    c = (1 - (s - 1) * coherence) / s
    among_others = c - (1 - c) / (s - 1)
    gram = np.full((2 * s, 2 * s), c)
    gram[:s, :s], gram[s:, s:] = -coherence, among_others
    np.fill_diagonal(gram, 1.0)
    return Basis(_root(gram, coherence))


def _signs(count: int, s: int, Δ: float, pattern: str, seed: int) -> np.ndarray:
    """Signs of the inner products, the relevant vectors first."""
    signs = np.ones((count, count))
    if pattern == "worst":
        signs[1:s, 1:s] = -1
    if pattern == "random":
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(count, count))
        signs = np.triu(signs, 1) + np.triu(signs, 1).T
        block = np.arange(count) // (1 + math.floor(1 / Δ))
        signs *= block[:, None] == block[None, :]
    np.fill_diagonal(signs, 0.0)
    return signs


def _root(gram: np.ndarray, Δ: float) -> np.ndarray:
    """Unit vectors with this Gram matrix, the rows of its square root."""
    values, axes = np.linalg.eigh(gram)
    if values[0] < -1e-10:
        raise InputError(
            "coherence",
            "inner products that vectors can have",
            f"{Δ:g}, for which the Gram matrix has the eigenvalue {values[0]:.3g}",
            "choose a smaller coherence, or the pattern 'equal'",
        )
    rows = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)

"""Exact suprema of sign sums over balls and finite classes, and complexities from below.

For weights W in a ball, Σ_i s_i⟨M_i, W⟩ = ⟨Σ_i s_i M_i, W⟩ is at most the radius times the dual
norm of Σ_i s_i M_i, and this is attained. For a vector class the features M_i are the inputs x_i;
for scores they are x_i z_iᵀ.

A complexity is the mean over signs of such a supremum over n. Up to 2^16 sign vectors are
enumerated. Otherwise D draws are averaged: a change of one of the nD signs moves the average by at
most 2A/(nD) for |f| ≤ A, so by McDiarmid's inequality the average exceeds its expectation by more
than A√(2 log(1/δ)/(nD)) with probability at most δ. A penalty that ignores the signs, as in the
offset complexity, changes nothing in this, and neither does a supremum that is only found in part.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError
from dudley.core.norms import norm_named
from dudley.core.rounding import down
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.scaling import lengths, near_one

ENUMERATED = 16
LARGEST = 1e300  # of what is summed
AT_ONCE = 2**24  # signs in memory
Supremum = Callable[[np.ndarray], np.ndarray]  # signs (draws, n) ↦ suprema (draws,)


def dual(norm: str, M: np.ndarray) -> np.ndarray:
    """sup ⟨M, W⟩ over the unit ball of a norm, for one or many matrices.

    >>> float(dual("op", np.diag([3.0, -4.0]))), float(dual("l11", np.diag([3.0, -4.0])))
    (7.0, 4.0)
    """
    M, power = near_one(np.asarray(M, dtype=float))
    return np.ldexp(norm_named(norm).dual(M), power)


def penalty(F: np.ndarray, β: float) -> np.ndarray:
    """β Σ f² along the last axis; infinite past the floats, and it does not vanish before β acts.

    >>> float(penalty(np.array([1e-170]), 1e300))
    1e-40
    """
    with np.errstate(over="ignore"):
        return ((math.sqrt(β) * F) ** 2).sum(axis=-1)


# -- classes ------------------


@dataclass(frozen=True, eq=False)
class BallClass:
    """{x_i ↦ ⟨M_i, W⟩ : norm(W) ≤ radius} on features M of shape (n, a, b), or (n, a)."""

    norm: str
    radius: float
    features: np.ndarray

    def __post_init__(self) -> None:
        radius_of("radius", self.radius)
        if np.ndim(self.features) not in (2, 3):
            raise InputError("features", "an array (n, a) or (n, a, b)", np.shape(self.features))

    @property
    def matrices(self) -> np.ndarray:
        M = np.asarray(self.features, dtype=float)
        return M[:, :, None] if M.ndim == 2 else M

    @property
    def size(self) -> float:
        """The largest |f(x_i)|."""
        return float(self.radius) * float(dual(self.norm, self.matrices).max())

    def __call__(self, signs: np.ndarray) -> np.ndarray:
        return self.radius * dual(self.norm, np.tensordot(signs, self.matrices, axes=1))


@dataclass(frozen=True, eq=False)
class FiniteClass:
    """Members with values F (N, n); with β, the offset process Σ s f − β Σ f²."""

    values: np.ndarray
    β: float = 0.0

    def __post_init__(self) -> None:
        radius_of("beta", self.β)
        if np.ndim(self.values) != 2 or 0 in np.shape(self.values):
            raise InputError("values", "members and points (N, n)", np.shape(self.values))
        if not np.abs(self.values).max() < LARGEST / np.shape(self.values)[1]:
            raise InputError("values", f"numbers whose sums stay below {LARGEST:g}", "others")

    @property
    def size(self) -> float:
        return float(np.abs(self.values).max())

    def __call__(self, signs: np.ndarray) -> np.ndarray:
        F = np.asarray(self.values, dtype=float)
        return (signs @ F.T - penalty(F, self.β)).max(axis=1)


@dataclass(frozen=True, eq=False)
class OffsetBall:
    """Σ s_i x_i·w − β Σ (x_i·w)² over ‖w‖₂ ≤ radius, at a feasible w that is all but the best.

    With G = XᵀX and c = Xᵀs the maximiser is w(λ) = (βG + λI)^{-1}c/2 for the least λ ≥ 0 at which
    ‖w(λ)‖ ≤ radius. λ is bisected in the eigenbasis of G, w is brought strictly into the ball, and
    the objective is evaluated there: a lower bound on the supremum whatever λ is.
    """

    radius: float
    features: np.ndarray  # (n, d)
    β: float

    def __post_init__(self) -> None:
        radius_of("radius", self.radius)
        if not self.β > 0:
            raise InputError("beta", "a number > 0", self.β)

    @property
    def size(self) -> float:
        return float(self.radius) * float(lengths(self.features).max())

    def __call__(self, signs: np.ndarray) -> np.ndarray:
        X, B = np.asarray(self.features, dtype=float), float(self.radius)
        if B == 0:
            return np.zeros(len(signs))
        eigenvalues, Q = np.linalg.eigh(X.T @ X)
        curvature = self.β * np.maximum(eigenvalues, 0.0)
        c = signs @ X @ Q  # (draws, d)

        def weights(λ: np.ndarray) -> np.ndarray:
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.nan_to_num(c / (2 * (curvature + λ[:, None])), posinf=0.0, neginf=0.0)

        low, high = np.zeros(len(c)), lengths(c) / (2 * B)
        for _ in range(80):
            λ = (low + high) / 2
            outside = lengths(weights(λ)) > B
            low, high = np.where(outside, λ, low), np.where(outside, high, λ)
        w = weights(high)
        w *= np.minimum(1.0, B * (1 - 1e-12) / np.maximum(lengths(w), 1e-300))[:, None]
        f = w @ Q.T @ X.T
        return (signs * f).sum(axis=1) - penalty(f, self.β)


@dataclass(frozen=True, eq=False)
class Segments:
    """Members tF_j for |t| ≤ 1 and columns F_j of values (n, N); with β, the offset process.

    On a segment Σ s f − β Σ f² is tc − βt²g with c = s·F_j and g = ‖F_j‖², largest at
    t = c/(2βg) or at an end.

    >>> Segments(np.eye(2), 0.25)(np.array([[1.0, -1.0]])).tolist()
    [0.75]
    """

    values: np.ndarray
    β: float = 0.0

    def __post_init__(self) -> None:
        FiniteClass(np.transpose(self.values), self.β)  # refuses what it would

    @property
    def size(self) -> float:
        return float(np.abs(self.values).max())

    def __call__(self, signs: np.ndarray) -> np.ndarray:
        F = np.asarray(self.values, dtype=float)
        c, cost = np.abs(signs @ F), penalty(F.T, self.β)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = np.where(2 * cost > c, c / (2 * cost), 1.0)
        return (t * c - t * t * cost).max(axis=1)


# -- complexities ------------------


def all_signs(n: int) -> np.ndarray:
    """All 2^n sign vectors, (2^n, n).

    >>> all_signs(2).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    return 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1


def rademacher(
    supremum: Supremum,
    n: int,
    A: float,
    rng: np.random.Generator | None = None,
    draws: int = 400,
    δ: float = 1e-9,
) -> LowerBound:
    """E sup/n from below; ``supremum`` maps sign rows (draws, n) to suprema of Σ s_i f(x_i).

    |f(x_i)| ≤ A for all members. Enumerated up to n = 16, unless ``rng`` is given for draws.

    >>> X = np.eye(3)[np.arange(300) % 3]
    >>> ball = BallClass("l2", 1.0, X)
    >>> print(rademacher(ball, 300, ball.size, np.random.default_rng(0)))       # about 1/√300
    at least 0.035... (400 sign draws; wrong with probability at most 1e-09)
    >>> print(rademacher(BallClass("l1", 1.0, np.eye(2)), 2, 1.0))
    at least 0.5 (all 2^2 signs)
    """
    size_of("n", n)
    A = radius_of("A", A)
    if rng is None and n > ENUMERATED:
        raise InputError("rng", f"a generator for n > {ENUMERATED}", "none")
    if rng is None:
        chunks = np.array_split(all_signs(n), max(1, 2**n >> 12))
        total = math.fsum(v for signs in chunks for v in np.asarray(supremum(signs)).tolist())
        value = total / 2**n / n
        return LowerBound(value - _rounded(n, A, value), f"all 2^{n} signs")
    if not 0 < δ < 1:
        raise InputError("δ", "a number in (0, 1)", δ)
    size_of("draws", draws)
    rows = max(1, AT_ONCE // n)  # of signs, in one batch
    batches = [min(rows, draws - first) for first in range(0, draws, rows)]
    signs = (rng.choice([-1.0, 1.0], size=(count, n)) for count in batches)
    suprema = (v for some in signs for v in np.asarray(supremum(some), dtype=float).tolist())
    drift = A * math.sqrt(2 * math.log(1 / δ) / (n * draws))
    value = math.fsum(suprema) / draws / n
    return LowerBound(value - drift - _rounded(n, A, value), f"{draws} sign draws", δ)


def _rounded(n: int, A: float, value: float) -> float:
    """What sums of n float terms of size A (and penalties, no larger than A + |value|) may gain."""
    return (1e-12 + n * 2.0**-52) * (A + abs(value))


def offset_unconstrained(X: np.ndarray, β: float) -> LowerBound:
    """The offset complexity of all linear functions on a design X (n, d): rank/(4βn), exactly.

    The supremum of s·v − β‖v‖² over the column space is ‖Ps‖²/(4β), and E‖Ps‖² = rank. Singular
    values count from 1e-10 of the largest on, so the rank is never taken for larger than it is.

    >>> print(offset_unconstrained(np.eye(8)[:, :3], 0.5))
    at least 0.1875 (rank 3, exact)
    """
    X = np.atleast_2d(np.asarray(X, dtype=float))
    if not β > 0:
        raise InputError("beta", "a number > 0", β)
    sizes = np.linalg.svd(X, compute_uv=False)
    rank = int((sizes > 1e-10 * sizes.max(initial=0.0)).sum())
    return LowerBound(float(down(rank / (4 * β * len(X)))), f"rank {rank}, exact")


def offset_in_ball(X: np.ndarray, β: float, radius: float, n: int) -> LowerBound:
    """The offset complexity of x ↦ x·w, ‖w‖₂ ≤ radius, on n points whose Gram matrix is XᵀX.

    Let U, V and σ be the r largest singular vectors and values of X. For signs s the weights
    w = tVσ^{-1}Uᵀs have norm at most t√n/σ_r and predict tUUᵀs, and E‖Uᵀs‖² = r. So, with no draws,
    the complexity is at least r(t − βt²)/n for t = 1/(2β), or as large as the ball allows.

    >>> print(offset_in_ball(np.eye(8), 0.5, 9.0, 8))
    at least 0.5 (rank 8, no draws)
    """
    σ = np.linalg.svd(np.asarray(X, dtype=float), compute_uv=False)
    σ = σ[σ > 1e-10 * σ.max(initial=0.0)] * (1 - 1e-9)
    if not σ.size:
        return LowerBound(0.0, "rank 0, no draws")
    t = np.minimum(1 / (2 * β), radius * σ / math.sqrt(n))
    values = np.arange(1, σ.size + 1) * (t - β * t * t) / n
    r = int(values.argmax())
    return LowerBound(float(values[r]) * (1 - 1e-12), f"rank {r + 1}, no draws")

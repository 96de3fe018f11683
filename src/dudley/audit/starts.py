"""Starts of a search: random and extreme weights and rows.

Suprema of these networks sit at extreme points: rank one, orthogonal, sparse, aligned, opposite,
and next to zero, where slopes are largest.

>>> import numpy as np
>>> start_weight(2, (2, 2), np.random.default_rng(0)).round(1) + 0.0
array([[1., 0.],
       [0., 1.]])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

WEIGHTS, ROWS = 8, 7  # kinds of starts


class Start(NamedTuple):
    """Weights, directions in which they move, rows of norm ≤ R, directions of those."""

    W: dict
    D: dict
    X: np.ndarray
    E: np.ndarray


def start_weight(kind: int, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """A matrix of spectral norm about 1 (the last kind: next to 0)."""
    (a, b), size = shape, 1.0
    if kind == 0:
        W = rng.normal(size=shape)
        size = np.linalg.norm(W, 2)
    elif kind == 1:
        u, v = rng.normal(size=a), rng.normal(size=b)
        W, size = np.outer(u, v), np.linalg.norm(u) * np.linalg.norm(v)
    elif kind == 2:
        W = np.eye(a, b)
    elif kind == 3:
        W = -np.eye(a, b)
    elif kind == 4:
        W = np.zeros(shape)
        W[0, 0] = 1
    elif kind == 5:
        W = np.eye(a, b) * rng.choice([-1.0, 1.0], size=(a, 1))
    elif kind == 6:
        W = np.eye(a, b)[rng.permutation(a)]
    else:
        W = 0.03 * rng.normal(size=shape)
    return (W + 0.01 * rng.normal(size=shape)) / size


def start_rows(kind: int, T: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """T rows of norm about 1 (the last kind: next to 0)."""
    if kind == 0:
        X = rng.normal(size=(T, d))
    elif kind == 1:
        X = np.zeros((T, d))
        X[:, 0] = np.where(np.arange(T) % 2, 1, -1)
    elif kind == 2:
        X = np.eye(T, d)[rng.permutation(T)]
    elif kind == 3:
        X = np.tile(rng.normal(size=d), (T, 1))
    elif kind == 4:  # a query apart from values ± e_1
        X = np.zeros((T, d))
        X[:, 0] = np.where(np.arange(T) % 2, 1, -1)
        X[-1] = np.eye(d)[min(1, d - 1)]
    elif kind == 5:
        X = np.eye(d)[rng.integers(0, d, T)] * rng.choice([-1.0, 1.0], size=(T, 1))
    else:
        X = 0.01 * rng.normal(size=(T, d))
    size = np.linalg.norm(X, axis=1, keepdims=True)
    X = X / np.where((size > 0) & (kind != 6), size, 1)
    return X + 0.02 * rng.normal(size=(T, d))

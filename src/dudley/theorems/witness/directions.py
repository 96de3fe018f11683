"""Directions from all corners of a matrix space: what members are scaled from.

Dense, signed, sparse, of rank one, with a single entry; and, for every norm, extreme points of its
unit ball up to scale, at which suprema of linear functions are attained.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def _one_per_row(a: int, b: int, rng) -> np.ndarray:
    W = np.zeros((a, b))
    W[np.arange(a), rng.integers(b, size=a)] = rng.choice([-1.0, 1.0], size=a)
    return W


def _one_row(a: int, b: int, rng) -> np.ndarray:
    W = np.zeros((a, b))
    W[rng.integers(a)] = rng.standard_normal(b)
    return W


def _one_entry(a: int, b: int, rng) -> np.ndarray:
    W = np.zeros((a, b))
    W[rng.integers(a), rng.integers(b)] = rng.choice([-1.0, 1.0])
    return W


def _equal_rows(a: int, b: int, rng) -> np.ndarray:
    W = rng.standard_normal((a, b))
    return W / np.linalg.norm(W, axis=1, keepdims=True)


def _isometry(a: int, b: int, rng) -> np.ndarray:
    U, _, V = np.linalg.svd(rng.standard_normal((a, b)), full_matrices=False)
    return U @ V


def _dense(a: int, b: int, rng) -> np.ndarray:
    return rng.standard_normal((a, b))


def _signs(a: int, b: int, rng) -> np.ndarray:
    return rng.choice([-1.0, 1.0], size=(a, b))


def _sparse(a: int, b: int, rng) -> np.ndarray:
    return rng.standard_normal((a, b)) * (rng.random((a, b)) < 0.4)


def _rank_one(a: int, b: int, rng) -> np.ndarray:
    return np.outer(rng.standard_normal(a), rng.standard_normal(b))


def _columns(rows: Callable) -> Callable:
    return lambda a, b, rng: rows(b, a, rng).T


EXTREME: dict[str, Callable] = {  # extreme points of the unit balls, up to scale
    "op": _isometry,
    "fro": _dense,
    "nuc": _rank_one,
    "l11": _one_entry,
    "linf": _signs,
    "row21": _one_row,
    "col21": _columns(_one_row),
    "row2inf": _equal_rows,
    "col2inf": _columns(_equal_rows),
    "row1inf": _one_per_row,
    "col1inf": _columns(_one_per_row),
}
KINDS = (_dense, _signs, _sparse, _rank_one, _one_entry)

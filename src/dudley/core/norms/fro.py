"""The Frobenius norm: the ℓ2 norm of all entries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import TINY, Norm, Sums, register
from dudley.core.norms.volumes import euclidean

if TYPE_CHECKING:
    from torch import Tensor


@register
class FrobeniusNorm(Norm):
    """It is its own dual, and every point of its unit sphere is extreme."""

    name = "fro"
    latex = r"\|W\|_F"
    meaning = "Frobenius norm"
    transposed = "fro"
    place = 2
    aliases = ("l2", "frobenius")
    constructors = (
        ("Frobenius", "Frobenius norm at most ``radius``."),
        ("L2", "ℓ2 norm of a vector at most ``radius``."),
    )
    dual_name = "fro"
    parts = ("whole", "each")

    def value(self, W: np.ndarray) -> float:
        return float(np.linalg.norm(W))

    def batch(self, W: Tensor) -> Tensor:
        return W.norm(dim=(-2, -1))

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.linalg.norm(M, axis=(-2, -1))

    def maximiser(self, G: Tensor) -> Tensor:
        return G / (G.norm(dim=(-2, -1), keepdim=True) + TINY)

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_normal((a, b))

    def log_volume(self, a: int, b: int) -> float:
        return euclidean(a * b)

    def from_sums(self, sums: Sums) -> float:
        return math.sqrt(float(sums.rows2.sum()))

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {
            "op": 1.0,
            "col2inf": 1.0,
            "row2inf": 1.0,
            "col21": math.sqrt(b),
            "row21": math.sqrt(a),
            "l11": math.sqrt(a * b),
            "nuc": math.sqrt(rank),
        }

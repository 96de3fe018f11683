"""The largest ℓ2 norm of a column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import NORMS, TINY, Norm, Sums, register
from dudley.core.norms.volumes import euclidean

if TYPE_CHECKING:
    from torch import Tensor


@register
class Col2InfNorm(Norm):
    """Its unit ball has the matrices whose columns are unit vectors for extreme points."""

    name = "col2inf"
    latex = r"\max_j\|W_{:,j}\|_2"
    meaning = "largest ℓ2 norm of a column"
    transposed = "row2inf"
    place = 8
    constructors = (("Col2Inf", "Every column's ℓ2 norm at most ``radius``."),)
    dual_name = "col21"
    parts = ("columns", "each")

    def value(self, W: np.ndarray) -> float:
        return float(np.linalg.norm(W, ord=2, axis=0).max())

    def batch(self, W: Tensor) -> Tensor:
        return W.norm(p=2, dim=-2).amax(-1)

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.linalg.norm(M, axis=-2).sum(axis=-1)

    def maximiser(self, G: Tensor) -> Tensor:
        return G / (G.norm(dim=-2)[..., None, :] + TINY)

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        return NORMS["row2inf"].draw_extreme(b, a, rng).T

    def log_volume(self, a: int, b: int) -> float:
        return b * euclidean(a)

    def from_sums(self, sums: Sums) -> float:
        return math.sqrt(float(sums.columns2.max()))

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {
            "col21": b,
            "fro": math.sqrt(b),
            "col1inf": math.sqrt(a),
            "linf": 1.0,
        }

"""The sum of the ℓ2 norms of the columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import NORMS, TINY, Norm, Sums, register
from dudley.core.norms.largest import at_largest
from dudley.core.norms.volumes import euclidean, sum_of

if TYPE_CHECKING:
    from torch import Tensor


@register
class Col21Norm(Norm):
    """Its unit ball has the matrices with a single column, a unit vector, for extreme points."""

    name = "col21"
    latex = r"\sum_j\|W_{:,j}\|_2"
    meaning = "sum of the ℓ2 norms of the columns"
    transposed = "row21"
    place = 6
    constructors = (("Col21", "Sum of the ℓ2 norms of the columns at most ``radius``."),)
    dual_name = "col2inf"
    parts = ("columns", "all")

    def value(self, W: np.ndarray) -> float:
        return float(np.linalg.norm(W, ord=2, axis=0).sum())

    def batch(self, W: Tensor) -> Tensor:
        return W.norm(p=2, dim=-2).sum(-1)

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.linalg.norm(M, axis=-2).max(axis=-1)

    def maximiser(self, G: Tensor) -> Tensor:
        sizes = G.norm(dim=-2)
        each = G / (sizes[..., None, :] + TINY)
        return each * at_largest(sizes)[..., None, :]

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        return NORMS["row21"].draw_extreme(b, a, rng).T

    def log_volume(self, a: int, b: int) -> float:
        return sum_of(euclidean(a), a, b)

    def from_sums(self, sums: Sums) -> float:
        return float(sums.columns2.sqrt().sum())

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {"fro": 1.0, "col2inf": 1.0, "nuc": 1.0, "l11": math.sqrt(a)}

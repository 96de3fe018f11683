"""The sum of the ℓ2 norms of the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import NORMS, Norm, Sums, register
from dudley.core.norms.volumes import euclidean, sum_of

if TYPE_CHECKING:
    from torch import Tensor


@register
class Row21Norm(Norm):
    """Its unit ball has the matrices with a single row, a unit vector, for extreme points."""

    name = "row21"
    latex = r"\sum_i\|W_{i,:}\|_2"
    meaning = "sum of the ℓ2 norms of the rows"
    transposed = "col21"
    place = 7
    constructors = (("Row21", "Sum of the ℓ2 norms of the rows at most ``radius``."),)
    dual_name = "row2inf"
    parts = ("rows", "all")

    def value(self, W: np.ndarray) -> float:
        return float(np.linalg.norm(W, ord=2, axis=1).sum())

    def batch(self, W: Tensor) -> Tensor:
        return W.norm(p=2, dim=-1).sum(-1)

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.linalg.norm(M, axis=-1).max(axis=-1)

    def maximiser(self, G: Tensor) -> Tensor:
        return NORMS["col21"].maximiser(G.transpose(-1, -2)).transpose(-1, -2)

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        W = np.zeros((a, b))
        W[rng.integers(a)] = rng.standard_normal(b)
        return W

    def log_volume(self, a: int, b: int) -> float:
        return sum_of(euclidean(b), b, a)

    def from_sums(self, sums: Sums) -> float:
        return float(sums.rows2.sqrt().sum())

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {"fro": 1.0, "row2inf": 1.0, "nuc": 1.0, "l11": math.sqrt(b)}

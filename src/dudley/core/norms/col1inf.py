"""The largest ℓ1 norm of a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import NORMS, Norm, Sums, register
from dudley.core.norms.largest import at_largest
from dudley.core.norms.volumes import cross_polytope

if TYPE_CHECKING:
    from torch import Tensor


@register
class Col1InfNorm(Norm):
    """Its unit ball has the matrices with one entry ±1 in each column for extreme points."""

    name = "col1inf"
    latex = r"\max_j\|W_{:,j}\|_1"
    meaning = "largest ℓ1 norm of a column"
    transposed = "row1inf"
    place = 10
    constructors = (("Col1Inf", "Every column's ℓ1 norm at most ``radius``."),)
    parts = ("entries", "column")

    def value(self, W: np.ndarray) -> float:
        return float(np.linalg.norm(W, ord=1, axis=0).max())

    def batch(self, W: Tensor) -> Tensor:
        return W.norm(p=1, dim=-2).amax(-1)

    def dual(self, M: np.ndarray) -> np.ndarray:
        return NORMS["row1inf"].dual(M.swapaxes(-1, -2))

    def maximiser(self, G: Tensor) -> Tensor:
        columns = G.transpose(-1, -2)
        return (at_largest(columns.abs()) * columns.sign()).transpose(-1, -2)

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        return NORMS["row1inf"].draw_extreme(b, a, rng).T

    def log_volume(self, a: int, b: int) -> float:
        return b * cross_polytope(a)

    def from_sums(self, sums: Sums) -> float:
        return float(sums.columns1.max())

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {"col2inf": 1.0, "l11": b}

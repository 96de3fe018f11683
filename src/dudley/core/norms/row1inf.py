"""The largest ℓ1 norm of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import NORMS, Norm, Sums, register
from dudley.core.norms.volumes import cross_polytope

if TYPE_CHECKING:
    from torch import Tensor


@register
class Row1InfNorm(Norm):
    """Its unit ball has the matrices with one entry ±1 in each row for extreme points."""

    name = "row1inf"
    latex = r"\max_i\|W_{i,:}\|_1"
    meaning = "largest ℓ1 norm of a row"
    transposed = "col1inf"
    place = 11
    constructors = (("Row1Inf", "Every row's ℓ1 norm at most ``radius``."),)
    parts = ("entries", "row")

    def value(self, W: np.ndarray) -> float:
        return float(np.linalg.norm(W, ord=1, axis=1).max())

    def batch(self, W: Tensor) -> Tensor:
        return W.norm(p=1, dim=-1).amax(-1)

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.abs(M).max(axis=-1).sum(axis=-1)

    def maximiser(self, G: Tensor) -> Tensor:
        return NORMS["col1inf"].maximiser(G.transpose(-1, -2)).transpose(-1, -2)

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        W = np.zeros((a, b))
        W[np.arange(a), rng.integers(b, size=a)] = rng.choice([-1.0, 1.0], size=a)
        return W

    def log_volume(self, a: int, b: int) -> float:
        return a * cross_polytope(b)

    def from_sums(self, sums: Sums) -> float:
        return float(sums.rows1.max())

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {"row2inf": 1.0, "l11": a}

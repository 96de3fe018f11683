"""The largest ℓ2 norm of a row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import NORMS, Norm, Sums, register
from dudley.core.norms.volumes import euclidean

if TYPE_CHECKING:
    from torch import Tensor


@register
class Row2InfNorm(Norm):
    """Its unit ball has the matrices whose rows are unit vectors for extreme points."""

    name = "row2inf"
    latex = r"\max_i\|W_{i,:}\|_2"
    meaning = "largest ℓ2 norm of a row"
    transposed = "col2inf"
    place = 9
    constructors = (("Row2Inf", "Every row's ℓ2 norm at most ``radius``."),)
    dual_name = "row21"
    parts = ("rows", "each")

    def value(self, W: np.ndarray) -> float:
        return float(np.linalg.norm(W, ord=2, axis=1).max())

    def batch(self, W: Tensor) -> Tensor:
        return W.norm(p=2, dim=-1).amax(-1)

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.linalg.norm(M, axis=-1).sum(axis=-1)

    def maximiser(self, G: Tensor) -> Tensor:
        return NORMS["col2inf"].maximiser(G.transpose(-1, -2)).transpose(-1, -2)

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        W = rng.standard_normal((a, b))
        return W / np.linalg.norm(W, axis=1, keepdims=True)

    def log_volume(self, a: int, b: int) -> float:
        return a * euclidean(b)

    def from_sums(self, sums: Sums) -> float:
        return math.sqrt(float(sums.rows2.max()))

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {
            "row21": a,
            "fro": math.sqrt(a),
            "row1inf": math.sqrt(b),
            "linf": 1.0,
        }

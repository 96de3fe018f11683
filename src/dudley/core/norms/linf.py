"""The largest absolute entry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import Norm, Sums, register

if TYPE_CHECKING:
    from torch import Tensor


@register
class LInfNorm(Norm):
    """Its unit ball is a cube, with the sign matrices for extreme points."""

    name = "linf"
    latex = r"\|W\|_{\max}"
    meaning = "largest absolute entry"
    transposed = "linf"
    place = 5
    constructors = (("LInf", "Largest absolute entry at most ``radius``."),)
    dual_name = "l11"
    parts = ("entries", "each")

    def value(self, W: np.ndarray) -> float:
        return float(np.abs(W).max())

    def batch(self, W: Tensor) -> Tensor:
        return W.abs().amax((-2, -1))

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.abs(M).sum(axis=(-2, -1))

    def maximiser(self, G: Tensor) -> Tensor:
        return G.sign()

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice([-1.0, 1.0], size=(a, b))

    def log_volume(self, a: int, b: int) -> float:
        return a * b * math.log(2)

    def from_sums(self, sums: Sums) -> float:
        return sums.largest

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {"col1inf": a, "row1inf": b, "col2inf": math.sqrt(a), "row2inf": math.sqrt(b)}

"""The entrywise ℓ1 norm: the sum of absolute entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import Norm, Sums, register
from dudley.core.norms.largest import at_largest
from dudley.core.norms.volumes import cross_polytope

if TYPE_CHECKING:
    from torch import Tensor


@register
class L11Norm(Norm):
    """Its unit ball has the matrices ±e_i e_jᵀ for extreme points."""

    name = "l11"
    latex = r"\|W\|_{1,1}"
    meaning = "sum of absolute entries"
    transposed = "l11"
    place = 4
    aliases = ("l1",)
    constructors = (
        ("L11", "Sum of absolute entries at most ``radius``."),
        ("L1", "ℓ1 norm of a vector at most ``radius``."),
    )
    dual_name = "linf"
    parts = ("entries", "all")

    def value(self, W: np.ndarray) -> float:
        return float(np.abs(W).sum())

    def batch(self, W: Tensor) -> Tensor:
        return W.abs().sum((-2, -1))

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.abs(M).max(axis=(-2, -1))

    def maximiser(self, G: Tensor) -> Tensor:
        flat = G.flatten(-2)
        return (at_largest(flat.abs()) * flat.sign()).reshape(G.shape)

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        W = np.zeros((a, b))
        W[rng.integers(a), rng.integers(b)] = rng.choice([-1.0, 1.0])
        return W

    def log_volume(self, a: int, b: int) -> float:
        return cross_polytope(a * b)

    def from_sums(self, sums: Sums) -> float:
        return float(sums.rows1.sum())

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return dict.fromkeys(("col21", "row21", "col1inf", "row1inf", "nuc"), 1.0)

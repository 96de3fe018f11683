"""The spectral norm: the largest singular value, and the ℓ2 operator norm of x ↦ xW."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import TINY, Norm, register
from dudley.core.rounding import up

if TYPE_CHECKING:
    from torch import Tensor


@register
class SpectralNorm(Norm):
    """Its unit ball has the isometries for extreme points."""

    name = "op"
    latex = r"\|W\|_2"
    meaning = "spectral norm"
    transposed = "op"
    place = 1
    aliases = ("spectral",)
    constructors = (("Spectral", "Spectral norm at most ``radius``."),)
    dual_name = "nuc"
    parts = ("singular", "each")

    def value(self, W: np.ndarray) -> float:
        return float(np.linalg.norm(W, 2))

    def batch(self, W: Tensor) -> Tensor:
        from dudley.core.backend import torch

        return torch.linalg.svdvals(W)[..., 0]

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.linalg.norm(M, "nuc", axis=(-2, -1))

    def maximiser(self, G: Tensor) -> Tensor:
        return polar(G)

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        U, _, V = np.linalg.svd(rng.standard_normal((a, b)), full_matrices=False)
        return U @ V

    def log_volume(self, a: int, b: int) -> float:
        """π^{ab/2} ∏_{j<m} Γ(1 + j/2)/Γ(1 + (M + j)/2), m = min(a, b), M = max(a, b).

        In singular values s, t = s², the volume element is a constant times
        ∏|t_i − t_j| ∏ t^{(M−m−1)/2} dt; over [0, 1]^m and against e^{−t} that is Selberg's integral
        and Laguerre's, and the latter belongs to the Gaussian measure, whose mass is known.
        """
        m, M = min(a, b), max(a, b)
        ratio = (math.lgamma(1 + j / 2) - math.lgamma(1 + (M + j) / 2) for j in range(m))
        return a * b / 2 * math.log(math.pi) + math.fsum(ratio)

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {"col2inf": 1.0, "row2inf": 1.0, "fro": math.sqrt(rank), "nuc": rank}

    def jointly(self, bounds: Mapping[str, float]) -> float:
        """The Schur test: op² ≤ row1inf · col1inf."""
        return float(up(math.sqrt(bounds["row1inf"]) * math.sqrt(bounds["col1inf"])))


def polar(G: Tensor, steps: int = 12) -> Tensor:
    """The polar factor, by Newton and Schulz.

    X ← (3X − XXᵀX)/2 brings every singular value in (0, 1] up to 1.
    """
    X = G / (G.norm(dim=(-2, -1), keepdim=True) + TINY)
    turned = X.shape[-2] < X.shape[-1]
    X = X.transpose(-1, -2) if turned else X
    for _ in range(steps):
        X = 1.5 * X - 0.5 * X @ (X.transpose(-1, -2) @ X)
    return X.transpose(-1, -2) if turned else X

"""The nuclear norm: the sum of the singular values. The volume of its ball is not known here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.norms.base import TINY, Norm, register
from dudley.core.rounding import outward

if TYPE_CHECKING:
    from torch import Tensor


@register
class NuclearNorm(Norm):
    """Its unit ball has the matrices uvᵀ of rank one for extreme points."""

    name = "nuc"
    latex = r"\|W\|_*"
    meaning = "nuclear norm"
    transposed = "nuc"
    place = 3
    aliases = ("nuclear",)
    constructors = (("Nuclear", "Nuclear norm at most ``radius``."),)
    dual_name = "op"
    parts = ("singular", "all")

    def value(self, W: np.ndarray) -> float:
        return float(np.linalg.norm(W, "nuc"))

    def batch(self, W: Tensor) -> Tensor:
        from dudley.core.backend import torch

        return torch.linalg.svdvals(W).sum(-1)

    def dual(self, M: np.ndarray) -> np.ndarray:
        return np.linalg.norm(M, 2, axis=(-2, -1))

    def maximiser(self, G: Tensor) -> Tensor:
        return first_pair(G)

    def draw_extreme(self, a: int, b: int, rng: np.random.Generator) -> np.ndarray:
        return np.outer(rng.standard_normal(a), rng.standard_normal(b))

    def from_others(self, upper: Mapping[str, float], rank: int) -> float:
        """The least of √r‖W‖_F, r‖W‖, and the sums of the row or column norms."""
        return min(
            outward(math.sqrt(rank) * upper["fro"]),
            outward(rank * upper["op"]),
            upper["col21"],
            upper["row21"],
        )

    def implies(self, a: float, b: float, rank: float) -> Mapping[str, float]:
        return {"fro": 1.0}


def first_pair(G: Tensor) -> Tensor:
    """The first singular pair uvᵀ, by powers of the Gram matrix."""
    M = G.transpose(-1, -2) @ G
    for _ in range(8):
        M = M / (M.diagonal(dim1=-1, dim2=-2).sum(-1)[..., None, None] + TINY)
        M = M @ M
    column = M.norm(dim=-2).argmax(-1)[..., None, None]
    v = M.take_along_dim(column.expand(*M.shape[:-1], 1), -1)
    u = G @ v
    size = u.norm(dim=-2, keepdim=True) * v.norm(dim=-2, keepdim=True) + TINY
    return u @ v.transpose(-1, -2) / size

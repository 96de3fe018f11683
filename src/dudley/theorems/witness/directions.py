"""Directions from all corners of a matrix space: what members are scaled from.

Dense, signed, sparse, of rank one, with a single entry. Extreme points of the unit ball of a norm,
at which suprema of linear functions are attained, are drawn by the norm itself (``core.norms``).
"""

from __future__ import annotations

import numpy as np

from dudley.core.norms import NORMS


def _sparse(a: int, b: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((a, b)) * (rng.random((a, b)) < 0.4)


_dense, _signs, _rank_one, _one_entry = (
    NORMS[name].draw_extreme for name in ("fro", "linf", "nuc", "l11")
)
KINDS = (_dense, _signs, _sparse, _rank_one, _one_entry)

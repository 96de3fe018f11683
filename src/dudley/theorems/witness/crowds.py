"""Crowds: codes that no ball holds many of, where less than 2ε of separation will do.

Of points of a Euclidean space that are pairwise √D apart, a ball of radius ε holds m at most with
m(D − 2ε²) ≤ D: around its centre Σ_{i<j}‖v_i − v_j‖² ≤ mΣ‖v_i‖² ≤ m²ε², and the sum is at least
m(m − 1)D/2 (Rankin). So a code of any size needs size/m balls once D > 2ε², wherever their centres
are; a packing, D > 4ε², is the case m = 1. In a product of a such spaces, with the largest of the
a distances, balls are products and hold m^a at most.
"""

from __future__ import annotations

import math

from dudley.core.rounding import down, up
from dudley.theorems.witness.codes import sparse_signs

TRIED = 12  # squared distances between those of m = ∞ and m = 1


def in_one_ball(square: int, ε: float) -> int | None:
    """How many points with squared distances ≥ ``square`` a ball of radius ε holds, at most.

    >>> in_one_ball(2, 0.7), in_one_ball(2, 0.75), in_one_ball(2, 1.0)
    (1, 2, None)
    """
    room = square - float(up(2 * (ε * (1 + 1e-9)) ** 2, 8))
    if room <= 1e-9 * square:
        return None
    return math.floor(up(square / room, 8))


def sparse_cover(b: int, k: int, ε: float) -> float:
    """log of a number of balls of radius ε that vectors of {−1, 0, 1}^b with k signs need.

    >>> round(math.exp(sparse_cover(64, 1, 0.75)), 6)              # two of ±e_i to a ball
    64.0
    >>> round(math.exp(sparse_cover(64, 1, 0.7)), 6)
    128.0
    """
    if not 2 * ε**2 < 4 * k:
        return 0.0
    first, last = math.floor(2 * ε**2) + 1, min(math.floor(4 * ε**2) + 1, 4 * k)
    best = 0.0
    for square in sorted({first + (last - first) * i // TRIED for i in range(TRIED + 1)}):
        crowd = in_one_ball(square, ε)
        if crowd is not None:
            best = max(best, sparse_signs(b, k, square) - float(up(math.log(crowd))))
    return float(down(best))

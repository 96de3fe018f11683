"""Patterns of signs in a matrix: how many of them norm balls hold, pairwise far apart.

Rows from a code of k-sparse signs of length b, with ‖u − v‖² ≥ D, times the scale c that the norms
of such matrices allow: two members differ in some row by c√D at least. The norms of a matrix of a
rows with k entries ±1 each:

    l11 = ak, fro = √(ak), row2inf = √k, row1inf = k, row21 = a√k, linf = 1,
    col2inf ≤ √a, col1inf ≤ a, col21 ≤ min(ak, √(abk)), op ≤ √(ak) (Schur),
    nuc ≤ min(ak, √(min(a, b)·ak)), and its rank is at most min(a, b).

Or k signs scattered over the matrix: a difference of Frobenius norm √D has at most
ρ = min(a, b, 2k) singular values (min(a, 2k) rows), so one of them is at least √(D/ρ).
Or signs everywhere: two members differ by 2c in some entry.
"""

from __future__ import annotations

import math
from functools import lru_cache

from dudley.core.norms import ByNorm
from dudley.core.rounding import down, up
from dudley.theorems.witness.codes import gilbert_varshamov, sparse_signs
from dudley.theorems.witness.crowds import sparse_cover


@lru_cache(maxsize=4096)
def pattern_norms(a: int, b: int, k: int) -> ByNorm:
    """Bounds on every norm of an a×b matrix with k entries ±1 in each row.

    >>> pattern_norms(4, 9, 9)["op"], pattern_norms(4, 9, 9)["col21"]
    (6.0..., 18.0...)
    """
    fro, ones = math.sqrt(a * k), float(a * k)
    norms = {
        "op": fro,
        "fro": fro,
        "nuc": min(ones, math.sqrt(min(a, b)) * fro),
        "l11": ones,
        "linf": 1.0,
        "row21": a * math.sqrt(k),
        "row2inf": math.sqrt(k),
        "row1inf": float(k),
        "col21": min(ones, math.sqrt(b) * fro),
        "col2inf": math.sqrt(a),
        "col1inf": float(a),
    }
    return ByNorm({name: float(up(value)) for name, value in norms.items()})


def rows_of_signs(radii: dict[str, float], a: int, b: int, k: int, ε: float) -> float:
    """log of a number of a×b patterns in the balls, two of which differ by > 2ε in some row.

    >>> rows_of_signs({"row2inf": 1.0}, 3, 4, 4, 0.49)             # c = ½: a single sign will do
    8.31...
    """
    norms = pattern_norms(a, b, k)
    c = float(down(min(r / norms[name] for name, r in radii.items())))
    if not c > 0 or 2 * ε / c > 2 * math.sqrt(k) + 1:
        return 0.0
    square = math.floor(up((2 * ε * (1 + 1e-9) / c) ** 2, 8)) + 1
    return float(down(a * sparse_signs(b, k, square)))


def rows_in_crowds(radii: dict[str, float], a: int, b: int, k: int, ε: float) -> float:
    """log of a number of centres that patterns in the balls need, at inputs that show one row each.

    >>> round(math.exp(rows_in_crowds({"l11": 1.0}, 1, 64, 1, 0.75)), 6)     # ±e_j, two to a ball
    64.0
    """
    norms = pattern_norms(a, b, k)
    c = float(down(min(r / norms[name] for name, r in radii.items())))
    return float(down(a * sparse_cover(b, k, float(up(ε / c))))) if c > 0 else 0.0


@lru_cache(maxsize=4096)
def scattered_norms(a: int, b: int, k: int) -> ByNorm:
    """Bounds on every norm of an a×b matrix with k entries ±1 anywhere."""
    root = math.sqrt(k)
    norms = {
        "op": root,
        "fro": root,
        "nuc": min(k, math.sqrt(min(a, b)) * root),
        "l11": k,
        "linf": 1.0,
        "row21": min(k, math.sqrt(a) * root),
        "row2inf": min(root, math.sqrt(b)),
        "row1inf": min(k, b),
        "col21": min(k, math.sqrt(b) * root),
        "col2inf": min(root, math.sqrt(a)),
        "col1inf": min(k, a),
    }
    return ByNorm({name: float(up(float(value))) for name, value in norms.items()})


def scattered_signs(radii: dict[str, float], a: int, b: int, k: int, ρ: int, ε: float) -> float:
    """log of a number of patterns with k signs in the balls, more than 2ε√ρ apart in fro."""
    norms = scattered_norms(a, b, k)
    c = float(down(min(r / norms[name] for name, r in radii.items())))
    if not c > 0 or ρ * (2 * ε / c) ** 2 > 4 * k + 1:
        return 0.0
    square = math.floor(up(ρ * (2 * ε * (1 + 1e-9) / c) ** 2, 8)) + 1
    return sparse_signs(a * b, k, square)


def entries_of_signs(radii: dict[str, float], a: int, b: int, ε: float) -> float:
    """log of a number of sign patterns in the balls, two of which differ by > 2ε in some entry."""
    norms = pattern_norms(a, b, b)
    c = float(down(min(r / norms[name] for name, r in radii.items())))
    return gilbert_varshamov(a * b, 1) if c > ε * (1 + 1e-9) else 0.0

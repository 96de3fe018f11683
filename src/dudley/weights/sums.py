"""The norms that are sums and maxima of absolute entries, certified at both ends.

Every one is a sum of non-negative terms, perhaps under a root, so floating-point errors are
relative: a term passes through at most m + n + 2 roundings on an m×n matrix (its square, its row or
column in blocks, the sum of these), so that fl(x)/(1 + γ_k) ≤ x ≤ fl(x)/(1 − γ_k) with
k = m + n + 8; a root and the last products are covered by the spare roundings. The largest entry
is exact.

>>> sums(Entries.of([[3.0, 0.0], [4.0, 0.0]]))["col21"].contains(5.0)
True
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from dudley.core.backend import torch
from dudley.core.norms import NORMS, Sums
from dudley.core.rounding import down, up
from dudley.weights.entries import Entries
from dudley.weights.interval import ZERO, Interval, γ


def names() -> list[str]:
    """The norms that are computed from sums."""
    return [name for name, norm in NORMS.items() if norm.supplies("from_sums")]


def sums(entries: Entries) -> dict[str, Interval]:
    """All of ``names()``, of the matrix itself (scaled back)."""
    if not entries.largest:
        return dict.fromkeys(names(), ZERO)
    scaled = of_blocks(entries.blocks(), entries.shape, entries.slack)
    intervals = {name: x.shifted(entries.exponent) for name, x in scaled.items()}
    exact = entries.largest
    intervals["linf"] = Interval(exact * (1 - 2 * entries.slack), exact * (1 + 2 * entries.slack))
    return intervals


def of_blocks(
    blocks: Iterable[torch.Tensor], shape: tuple[int, int], slack: float = 0.0
) -> dict[str, Interval]:
    """The norms of a matrix that comes as blocks of rows, to be read once."""
    m, n = shape
    rows1, rows2 = [], []
    col1, col2, largest = 0.0, 0.0, 0.0
    for block in blocks:
        size = block.abs()
        largest = max(largest, float(size.max()))
        rows1.append(size.sum(1))
        col1 = col1 + size.sum(0)
        square = size.square_()
        rows2.append(square.sum(1))
        col2 = col2 + square.sum(0)
    row1, row2 = torch.cat(rows1), torch.cat(rows2)
    assert isinstance(col1, torch.Tensor) and isinstance(col2, torch.Tensor)
    parts = Sums(row1, row2, col1, col2, largest)
    ε = up(γ(m + n + 8) + 2 * slack)
    sizes = {name: NORMS[name].from_sums(parts) for name in names()}
    return {name: Interval(down(x * (1 - ε)), up(x * (1 + ε))) for name, x in sizes.items()}


def frobenius_up(X: torch.Tensor) -> float:
    """‖X‖_F of a whole tensor, rounded up.

    What squares lose by underflow is left to the caller, who adds γ times something large.
    """
    flat = X.reshape(-1)
    return up(math.sqrt(float(flat @ flat)) * (1 + γ(flat.numel() + 8)))

"""Hull: a block's entropy as the vertices that a multiplier can choose.

For a multiplier λ a block takes the relative resolution x ∈ (0, 1] of its radius that minimises
H(x) + λ·reach·x: always a vertex of the lower convex hull of H. Entropies are tabulated once,
finer where they grow faster, and in log space: x = e^{−y}, log H.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dudley.core.entropy import Entropy

Hull = tuple[np.ndarray, np.ndarray, np.ndarray]  # y, log H, log slopes between

_COARSE = np.concatenate([np.arange(0, 12, 0.05), 12 * 1.05 ** np.arange(310)])  # to e^{−4·10^7}
_STEP, _MOST = 0.01, 100  # between coarse nodes, as many as keep steps of log H near one percent


@lru_cache(maxsize=256)
def _nodes(entropy: Entropy) -> np.ndarray:
    """Where an entropy is tabulated: finer where it grows faster."""
    log_n = math.log(1e6) if entropy.uses_points else None
    log_H = entropy.log_log(entropy.log_radius - _COARSE, log_n)
    with np.errstate(invalid="ignore"):
        growth = np.nan_to_num(np.diff(log_H), nan=0.0, posinf=_STEP * _MOST)
    pieces = np.clip(np.ceil(growth / _STEP), 1, _MOST).astype(int)
    starts = np.repeat(_COARSE[:-1], pieces)
    widths = np.repeat(np.diff(_COARSE) / pieces, pieces)
    inside = np.arange(len(starts)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.append(starts + widths * inside, _COARSE[-1])


@lru_cache(maxsize=1024)
def _table(entropy: Entropy, nodes_of: Entropy, log_n: float | None) -> np.ndarray:
    """log H of one part of an entropy, at the nodes of another."""
    return entropy.log_log(entropy.log_radius - _nodes(nodes_of), log_n)


@lru_cache(maxsize=512)
def hull(entropy: Entropy, log_n: float | None) -> Hull:
    """Vertices (y, log H) of the lower convex hull of H(x), x = e^{−y}, and log slopes between.

    A node above the chord of its neighbours is not a vertex; dropping such nodes until none is
    left leaves the hull.
    """
    parts = entropy.parts()
    tables = [_table(part, parts[0], log_n if part.uses_points else None) for part in parts]
    y, log_H = _nodes(parts[0]), np.minimum.reduce(tables)
    if len(parts) > 1 and np.array_equal(log_H, tables[0]):  # the number of points helps nowhere
        return hull(parts[0], None)
    log_H = np.maximum.accumulate(np.where(y == 0, -math.inf, log_H))
    ends = np.append(log_H[1:] > log_H[:-1], True) & (log_H < math.inf)  # far end of each step
    y, log_H = y[ends], log_H[ends]
    while True:
        slopes = _log_slopes(y, log_H)
        keep = np.ones(len(y), dtype=bool)
        keep[1:-1] = slopes[:-1] < slopes[1:]
        if keep.all():
            return y, log_H, slopes
        y, log_H = y[keep], log_H[keep]


def _log_slopes(y, log_H):
    """log of (H_{k+1} − H_k)/(x_k − x_{k+1})."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = log_H[1:] + np.log1p(-np.exp(np.minimum(log_H[:-1] - log_H[1:], 0.0)))
        run = -y[:-1] + np.log1p(-np.exp(y[:-1] - y[1:]))
    return rise - run


def forget() -> None:
    """Empty the tables (for benchmarks, which must not be answered from memory)."""
    for table in (_nodes, _table, hull):
        table.cache_clear()

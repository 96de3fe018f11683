"""Splits: resolutions for all blocks of an allocation, where no multiplier finds the best ones.

A block has rows: each is a reach w (what its largest error does to the output), and stands for as
many equal blocks as its count says. At a relative resolution x = e^{−y} a row uses w·x·count of the
budget. A split says y and log H for every row, blocks first, and for every budget.

None of the three costs more where the budget is larger. The candidates of :func:`shared` and
:func:`single` are the same whatever the blocks cost, so these never cost less where a block's reach
or entropy is larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dudley.calculus.hull import Hull

Resolutions = list[tuple[np.ndarray, np.ndarray]]  # of each block y and log H, rows × budgets

_FEW, _PARTS = 8, 128  # for so few rows, all splits into so many parts


class BlockRows(NamedTuple):
    """The rows of one block, and the hull that they share."""

    log_reach: np.ndarray
    log_counts: np.ndarray
    hull: Hull

    @property
    def log_sizes(self) -> np.ndarray:
        """log of what each row uses at x = 1."""
        return self.log_reach + self.log_counts


def filled(
    blocks: Sequence[BlockRows],
    target: np.ndarray,
    left: np.ndarray,
    chosen: list[np.ndarray],
    coarser: list[np.ndarray],
) -> Resolutions:
    """Vertices of the hulls, moved towards coarser ones in turn until the budget is spent.

    ``left`` is what the chosen ones leave of the budget, as a part of it; the coarser ones together
    overspend. On this way Σ H never grows, and it ends at the vertices for a larger budget.
    """
    result = []
    for (_, _, h), log_sizes, k, end in zip(
        blocks, [rows.log_sizes for rows in blocks], chosen, coarser, strict=True
    ):
        y, log_H = h.y[k], h.log_H[k]
        moves = (end < k) & (left > 0)
        for i in np.flatnonzero(moves.any(axis=1)):
            j = np.flatnonzero(moves[i])
            finest, coarsest, log_size = h.y[k[i, j]], h.y[end[i, j]], log_sizes[i] - target[j]
            with np.errstate(over="ignore", divide="ignore"):
                part = np.exp(log_size - finest)
                room = np.exp(log_size - coarsest) - part
                between = log_size - np.log(part + np.minimum(room, left[j]))
            y[i, j] = np.where(room > left[j], np.clip(between, coarsest, finest), coarsest)
            log_H[i, j] = np.minimum(h.at(y[i, j]), log_H[i, j])
            left[j] = np.maximum(left[j] - room, 0.0)
        result.append((y, log_H))
    return result


def shared(blocks: Sequence[BlockRows], target: np.ndarray, log_reach: float) -> Resolutions:
    """The best split into equal parts of the budget; of many rows, one resolution for all."""
    ends = np.cumsum([len(rows.log_reach) for rows in blocks])
    if ends[-1] > _FEW:
        even = np.maximum(log_reach - target, 0.0)
        every = [np.tile(even, (len(rows.log_reach), 1)) for rows in blocks]
        return [(y, rows.hull.at(y)) for y, rows in zip(every, blocks, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_parts = np.log(np.arange(_PARTS + 1) / _PARTS) + target[:, None]
        y = [np.fmax(rows.log_sizes[:, None, None] - log_parts, 0.0) for rows in blocks]
    log_H = [rows.hull.at(at) for rows, at in zip(blocks, y, strict=True)]
    counts = np.concatenate([rows.log_counts for rows in blocks])[:, None, None]
    parts = best_shares(np.exp(np.minimum(np.concatenate(log_H) + counts, 700.0)))[:, :, None]
    return [
        (np.take_along_axis(at, p, axis=2)[:, :, 0], np.take_along_axis(H, p, axis=2)[:, :, 0])
        for at, H, p in zip(y, log_H, np.split(parts, ends[:-1]), strict=True)
    ]


def single(blocks: Sequence[BlockRows], target: np.ndarray, log_reach: float) -> Resolutions:
    """One row that takes what is left of the budget when all others are one point."""
    short = -np.expm1(np.minimum(target - log_reach, 0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = [
            -np.log(np.fmax(1 - short / np.exp(rows.log_sizes - log_reach)[:, None], 0.0))
            for rows in blocks
        ]
    costs = [
        rows.hull.at(at) + rows.log_counts[:, None] for rows, at in zip(blocks, y, strict=True)
    ]
    best = np.concatenate(costs).argmin(axis=0)
    ends = np.cumsum([len(at) for at in y])
    chosen = np.split(np.arange(ends[-1])[:, None] == best, ends[:-1])
    taken = [np.where(here, at, 0.0) for here, at in zip(chosen, y, strict=True)]
    return [(at, rows.hull.at(at)) for at, rows in zip(taken, blocks, strict=True)]


def best_shares(costs: np.ndarray) -> np.ndarray:
    """How many parts each block gets, blocks × budgets, where Σ costs is least.

    ``costs`` holds what a block costs at 0, 1, …, M parts: blocks × budgets × (M + 1). Blocks are
    joined one at a time: least(m) = min_k least′(m − k) + cost(k).

    >>> costs = np.array([[[9.0, 4.0, 1.0]], [[5.0, 1.0, 0.0]]])
    >>> best_shares(costs).ravel()  # 4 + 1 is the least sum for two parts
    array([1, 1])
    """
    budgets, M = np.arange(costs.shape[1]), costs.shape[2] - 1
    least, taken = costs[0], []
    for cost in costs[1:]:
        joined, parts = np.empty_like(least), np.empty(least.shape, dtype=int)
        for m in range(M + 1):
            sums = least[:, m::-1] + cost[:, : m + 1]
            parts[:, m] = sums.argmin(axis=1)
            joined[:, m] = sums[budgets, parts[:, m]]
        least = joined
        taken.append(parts)
    left, shares = np.full(len(budgets), M), []
    for parts in reversed(taken):
        shares.append(parts[budgets, left])
        left = left - shares[-1]
    return np.stack([left, *reversed(shares)])

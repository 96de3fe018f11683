"""Splits: resolutions for all blocks of an allocation, where no multiplier finds the best ones.

A block has rows: each is a reach w (what its largest error does to the output), and stands for as
many equal blocks as its count says. At a relative resolution x = e^{−y} a row uses w·x·count of the
budget. A split says y and log H for every row, blocks first, and for every budget.

None of the three costs more where the budget is larger. The candidates of :func:`shared` and
:func:`single` are the same whatever the blocks cost, so these never cost less where a block's reach
or entropy is larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dudley.calculus.hull import Hull, HullsBeside

Resolutions = list[tuple[np.ndarray, np.ndarray]]  # of each block y and log H, rows × budgets

_FEW, _PARTS = 8, 128  # for so few rows, all splits into so many parts
_AT_ONCE = 64  # budgets: what is computed for so many fits into a cache


class BlockRows(NamedTuple):
    """The rows of one block, and the hulls that they use.

    The reach is rows × budgets, or rows × 1 where it is the same for all budgets.
    """

    log_reach: np.ndarray
    log_counts: np.ndarray
    hull: Hull | HullsBeside

    @property
    def log_sizes(self) -> np.ndarray:
        """log of what each row uses at x = 1."""
        return self.log_reach + self.log_counts[:, None]

    def some(self, budgets: np.ndarray) -> BlockRows:
        """The same rows for some of the budgets."""
        reach = self.log_reach if self.log_reach.shape[1] == 1 else self.log_reach[:, budgets]
        hull = self.hull if isinstance(self.hull, Hull) else self.hull.some(budgets)
        return BlockRows(reach, self.log_counts, hull)


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
    for rows, k, end in zip(blocks, chosen, coarser, strict=True):
        h = rows.hull
        y, log_H = h.y_of(k), h.log_H_of(k)
        i, j = np.nonzero((end < k) & (left > 0))
        if i.size:
            log_size = np.broadcast_to(rows.log_sizes, k.shape)[i, j] - target[j]
            finest, coarsest = y[i, j], h.y_of(end)[i, j]
            with np.errstate(over="ignore", divide="ignore"):
                part = np.exp(log_size - finest)
                room = np.exp(log_size - coarsest) - part
            rooms = np.zeros((len(k) + 1, len(left)))
            rooms[0], rooms[i + 1, j] = left, room
            lefts = np.subtract.accumulate(rooms, axis=0)  # before each row, one after the other
            rest, left = np.maximum(lefts[i, j], 0.0), np.maximum(lefts[-1], 0.0)
            with np.errstate(over="ignore", divide="ignore"):
                between = log_size - np.log(part + np.minimum(room, rest))
            y[i, j] = np.where(room > rest, np.clip(between, coarsest, finest), coarsest)
            log_H = np.where((end < k), np.minimum(h.at(y), log_H), log_H)
        result.append((y, log_H))
    return result


def shared(
    blocks: Sequence[BlockRows], target: np.ndarray, log_reach: np.ndarray, log_limit: np.ndarray
) -> Resolutions:
    """The best split into equal parts of the budget; of many rows, one resolution for all.

    One that costs more than the limit may be replaced by any other one that does.
    """
    ends = np.cumsum([len(rows.log_reach) for rows in blocks])
    if ends[-1] > _FEW:
        even = np.maximum(log_reach - target, 0.0)
        every = [np.tile(even, (len(rows.log_reach), 1)) for rows in blocks]
        return [(y, rows.hull.at(y)) for y, rows in zip(every, blocks, strict=True)]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_parts = np.log(np.arange(_PARTS + 1) / _PARTS) + target[:, None]
        y = [np.fmax(rows.log_sizes[:, :, None] - log_parts, 0.0) for rows in blocks]
    log_H = [rows.hull.at(at) for rows, at in zip(blocks, y, strict=True)]
    counts = np.concatenate([rows.log_counts for rows in blocks])[:, None, None]
    costs = np.exp(np.minimum(np.concatenate(log_H) + counts, 700.0))
    limit = np.exp(np.minimum(log_limit + 1e-9, 710.0))
    parts = best_shares(costs, limit)[:, :, None]
    return [
        (np.take_along_axis(at, p, axis=2)[:, :, 0], np.take_along_axis(H, p, axis=2)[:, :, 0])
        for at, H, p in zip(y, log_H, np.split(parts, ends[:-1]), strict=True)
    ]


def single(
    blocks: Sequence[BlockRows], target: np.ndarray, log_reach: np.ndarray, log_limit: np.ndarray
) -> Resolutions:
    """One row that takes what is left of the budget when all others are one point."""
    short = -np.expm1(np.minimum(target - log_reach, 0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = [
            -np.log(np.fmax(1 - short / np.exp(rows.log_sizes - log_reach), 0.0)) for rows in blocks
        ]
    costs = [
        rows.hull.at(at) + rows.log_counts[:, None] for rows, at in zip(blocks, y, strict=True)
    ]
    best = np.concatenate(costs).argmin(axis=0)
    ends = np.cumsum([len(at) for at in y])
    chosen = np.split(np.arange(ends[-1])[:, None] == best, ends[:-1])
    taken = [np.where(here, at, 0.0) for here, at in zip(chosen, y, strict=True)]
    return [(at, rows.hull.at(at)) for at, rows in zip(taken, blocks, strict=True)]


def best_shares(costs: np.ndarray, limit: np.ndarray | float = math.inf) -> np.ndarray:
    """How many parts each block gets, blocks × budgets, where Σ costs is least.

    ``costs`` holds what a block costs at 0, 1, …, M parts, which never grows: blocks × budgets ×
    (M + 1). Blocks are joined one at a time, least(m) = min_k least′(m − k) + cost(k), and parted
    again from the last. Splits that cost more than the ``limit`` of their budget are not looked at.

    >>> costs = np.array([[[9.0, 4.0, 1.0]], [[5.0, 1.0, 0.0]]])
    >>> best_shares(costs).ravel()  # 4 + 1 is the least sum for two parts
    array([1, 1])
    """
    M = costs.shape[2] - 1
    fewest = _fewest(costs, np.broadcast_to(limit, costs.shape[1]))
    shares = np.zeros(costs.shape[:2], dtype=int)
    shares[0] = M
    order = np.argsort(M - fewest.sum(axis=0), kind="stable")
    for some in np.array_split(order, -(-len(order) // _AT_ONCE)):
        low = fewest[:, some].min(axis=1)
        free = M - int(low.sum())
        if free >= 0:
            rest = [cost[some, k : k + free + 1].T for cost, k in zip(costs, low, strict=True)]
            shares[:, some] = low[:, None] + _joined(np.ascontiguousarray(rest))
    return shares


def _fewest(costs: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The fewest parts that a block can do with in a split of all that costs no more than that."""
    M = costs.shape[2] - 1
    fewest = (costs > limit[:, None]).sum(axis=2)
    for _ in range(2):
        most = np.clip(M - fewest.sum(axis=0) + fewest, 0, M)
        floors = np.take_along_axis(costs, most[:, :, None], axis=2)[:, :, 0]
        with np.errstate(invalid="ignore"):
            left = limit - (floors.sum(axis=0) - floors)  # for this block
        fewest = (costs > left[:, :, None]).sum(axis=2)
    return fewest


def _joined(costs: np.ndarray) -> np.ndarray:
    """The parts of each block in the best split of all M: blocks × (M + 1) × budgets given."""
    M, budgets = costs.shape[1] - 1, np.arange(costs.shape[2])
    least, sums = [costs[0]], np.empty_like(costs[0])
    for cost in costs[1:-1]:
        joined = least[-1] + cost[0]
        for k in range(1, M + 1):
            here = np.add(least[-1][: M + 1 - k], cost[k], out=sums[k:])
            np.minimum(joined[k:], here, out=joined[k:])
        least.append(joined)
    left, shares = np.full(len(budgets), M), []
    for cost, before in zip(costs[:0:-1], reversed(least), strict=False):
        rest = left - np.arange(M + 1)[:, None]  # what is left for the blocks before
        sums = np.where(rest >= 0, before[np.maximum(rest, 0), budgets] + cost, math.inf)
        shares.append(sums.argmin(axis=0))
        left = left - shares[-1]
    return np.stack([left, *reversed(shares)])

"""Solve: the best split of a budget between blocks that is found, by one multiplier.

Blocks at relative resolutions x_i cost Σ H_i(x_i) and use Σ w_i x_i of the budget. For a multiplier
λ each takes the vertex of its convex hull that minimises H_i + λ w_i x_i; λ is the smallest one, of
a fixed sequence, that keeps the budget. What that leaves over is spent, and at coarse ε splits
without a multiplier are tried as well (``splits``).

A problem has a column for each scale at which it is asked. Problems of equal shape are solved side
by side, all their columns at once: each column by itself, so that company changes no answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dudley.calculus import splits
from dudley.calculus.hull import Hull, HullsBeside
from dudley.calculus.splits import BlockRows, Resolutions

_FEASIBLE = math.log1p(-1e-9)  # the budget is kept with room for rounding
_COARSE = 4.0  # log of reach over resolution up to which splits without a multiplier are tried
_RESOLVED = 1e-3  # log λ is searched among the multiples of this
_STRIDE = 1024.0  # of which one in so many is tried first
_COLUMNS, _NUMBERS = 4096, 1 << 19  # at most so many columns, and rows times columns, at once


class SplitProblem(NamedTuple):
    """The rows of all blocks with one hull each, the scales, and the log of Σ w."""

    rows: tuple[BlockRows, ...]
    log_ε: np.ndarray
    log_reach: float

    @property
    def shape(self) -> tuple[bytes, ...]:
        """What problems have in common that can be solved side by side."""
        return tuple(one.log_counts.tobytes() for one in self.rows)


def solve(problem: SplitProblem) -> tuple[Resolutions, np.ndarray]:
    """The best split that is found at each scale, and its log Σ H.

    The multiplier is the least multiple of the resolution that fits, found for each ε by
    itself: so it never grows with ε, and neither does Σ H. Where a norm or a number of points
    grows it can be another one, which leaves less over: then Σ H may fall, by about a step of the
    tables (one percent). Each value is the cost of a split, so each holds.
    """
    return _solve([problem])


def solve_together(problems: Sequence[SplitProblem]) -> list[np.ndarray]:
    """log Σ H of each problem, as :func:`solve` says it."""
    alike: dict[tuple, list[int]] = {}
    for i, problem in enumerate(problems):
        alike.setdefault(problem.shape, []).append(i)
    solved: dict[int, np.ndarray] = {}
    first: dict[int, int] = {}  # by the id of a hull: which one it is
    for group in alike.values():  # those that share hulls side by side
        group.sort(key=lambda i: [first.setdefault(id(one.hull), i) for one in problems[i].rows])
        rows = sum(len(one.log_counts) for one in problems[group[0]].rows)
        most = min(_COLUMNS, _NUMBERS // rows)
        for some in _portions(group, [len(problems[i].log_ε) for i in group], most):
            log_H = _solve([problems[i] for i in some])[1]
            ends = np.cumsum([len(problems[i].log_ε) for i in some])
            solved.update(zip(some, np.split(log_H, ends[:-1]), strict=True))
    return [solved[i] for i in range(len(problems))]


def _portions(group: Sequence[int], columns: Sequence[int], most: int) -> list[list[int]]:
    """The group in portions of so many columns, or of one problem that has more."""
    portions: list[list[int]] = [[]]
    total = 0
    for i, count in zip(group, columns, strict=True):
        if portions[-1] and total + count > most:
            portions.append([])
            total = 0
        portions[-1].append(i)
        total += count
    return portions


def _solve(problems: Sequence[SplitProblem]) -> tuple[Resolutions, np.ndarray]:
    """The columns of all problems, one after the other."""
    rows = _beside(problems)
    counts = [len(one.log_ε) for one in problems]
    log_ε = np.concatenate([one.log_ε for one in problems])
    log_reach = np.repeat([one.log_reach for one in problems], counts)
    enough = log_ε >= log_reach  # nothing need be bought
    target = np.where(enough, math.inf, log_ε + _FEASIBLE)
    brackets = [_bracket(one) for one in problems]
    low, high = (np.concatenate(ends) for ends in zip(*brackets, strict=True))
    while (open_ := high - low > np.maximum(1.0, 8 * np.spacing(np.abs(high)))).any():
        middle = np.floor((low + high) / 2)
        fits = spent(rows, _vertices(rows, middle * _RESOLVED)) <= target
        low = np.where(open_ & ~fits, middle, low)
        high = np.where(open_ & fits, middle, high)
    chosen, coarser = (
        _vertices(rows, np.where(enough, -math.inf, multiple * _RESOLVED))
        for multiple in (high, low)
    )
    used = spent(rows, chosen)
    fits = used <= target
    left = -np.expm1(np.minimum(used - target, 0.0))
    result = splits.filled(rows, target, left, chosen, coarser)
    best = np.where(fits, total_entropy(rows, [log_H for _, log_H in result]), math.inf)
    coarse = np.flatnonzero(fits & ~enough & (target > log_reach - _COARSE))
    few = [one.some(coarse) for one in rows] if coarse.size else []
    for search in (splits.shared, splits.single) if coarse.size else ():
        others = search(few, target[coarse], log_reach[coarse], best[coarse])
        log_H = total_entropy(few, [log_H for _, log_H in others])
        better = log_H < best[coarse]
        best[coarse[better]] = log_H[better]
        for mine, other in zip(result, others, strict=True):
            for values, other_values in zip(mine, other, strict=True):
                values[:, coarse[better]] = other_values[:, better]
    return result, best


def _beside(problems: Sequence[SplitProblem]) -> tuple[BlockRows, ...]:
    """The rows of all problems, side by side."""
    if len(problems) == 1:
        return problems[0].rows
    counts = [len(one.log_ε) for one in problems]
    rows = []
    for parts in zip(*(one.rows for one in problems), strict=True):
        reach = np.repeat(np.concatenate([one.log_reach for one in parts], axis=1), counts, axis=1)
        hulls = [one.hull for one in parts if isinstance(one.hull, Hull)]
        rows.append(BlockRows(reach, parts[0].log_counts, HullsBeside(hulls, counts)))
    return tuple(rows)


def _bracket(problem: SplitProblem) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers at which nothing is bought, and at which every block fits an equal share."""
    rows, enough = problem.rows, problem.log_ε >= problem.log_reach
    target = np.where(enough, 0.0, problem.log_ε + _FEASIBLE)
    shares = math.log(sum(np.exp(one.log_counts).round().sum() for one in rows))
    low, high = np.full(len(target), math.inf), np.full(len(target), -math.inf)
    for reach, _, h in rows:
        assert isinstance(h, Hull)
        reach = reach[np.isfinite(reach[:, 0])]
        if not (reach.size and h.slopes.size):
            continue
        bought = np.clip(np.searchsorted(h.y, reach + shares - target), 1, len(h.slopes)) - 1
        low = np.minimum(low, h.slopes[0] - reach.max() - 1)
        high = np.maximum(high, (h.slopes[bought] - reach).max(axis=0) + 1e-6)
    known = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(known, np.minimum(low, high), 0.0), np.where(known, high, 0.0)
    low, high = np.floor(low / _RESOLVED), np.ceil(high / _RESOLVED)
    return _narrowed(rows, np.where(enough, math.inf, target), low, high)


def _narrowed(
    rows: Sequence[BlockRows], target: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The bracket, by multipliers tried for all ε at once: what is spent falls with λ."""
    first, last = np.floor(low.min() / _STRIDE), np.ceil(high.max() / _STRIDE)
    if not 2 <= last - first <= _STRIDE:
        return low, high
    tried = _STRIDE * np.arange(first, last)
    falls = np.minimum.accumulate(spent(rows, _vertices(rows, tried * _RESOLVED)))
    first = np.searchsorted(-falls, -target)  # the first that fits
    fits = tried[np.minimum(first, len(tried) - 1)]
    fits = np.where((first < len(tried)) & (fits > low) & (fits < high), fits, high)
    fails = tried[np.maximum(first - 1, 0)]
    return np.where((first > 0) & (fails > low) & (fails < fits), fails, low), fits


def _vertices(rows: Sequence[BlockRows], log_λ: np.ndarray) -> list[np.ndarray]:
    with np.errstate(invalid="ignore"):
        return [one.hull.vertices(log_λ + one.log_reach) for one in rows]


def spent(rows: Sequence[BlockRows], vertices: list[np.ndarray]) -> np.ndarray:
    """log of what these vertices use of the budget."""
    used = [one.log_sizes - one.hull.y_of(k) for one, k in zip(rows, vertices, strict=True)]
    return log_sum(np.concatenate(used, axis=0))


def total_entropy(rows: Sequence[BlockRows], logs: list[np.ndarray]) -> np.ndarray:
    """log Σ H over all blocks, rows × columns given for each of them."""
    every = [log + one.log_counts[:, None] for one, log in zip(rows, logs, strict=True)]
    return log_sum(np.concatenate(every, axis=0))


def log_sum(logs: np.ndarray) -> np.ndarray:
    """log Σ e^{logs} along the first axis; −∞ for an empty or vanishing sum."""
    peak = np.max(logs, axis=0)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    # numpy adds a lone column in another order than several: so each is laid out as a row
    terms = np.ascontiguousarray(np.moveaxis(np.exp(logs - safe), 0, -1))
    with np.errstate(divide="ignore"):
        return np.where(np.isfinite(peak), safe + np.log(terms.sum(axis=-1)), peak)

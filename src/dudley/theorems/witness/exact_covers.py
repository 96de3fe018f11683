"""Smallest covers and largest packings of finite sets, by integer programming (HiGHS).

What is reported about a covering number is below it whatever happens: pairs count as close if they
are within ε up to rounding, so a cover may only become smaller; where the solver does not finish,
its proven dual bound is used; a packing is checked pair by pair, whoever found it.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from dudley.core.errors import DudleyError, InputError
from dudley.core.rounding import down
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.packings import ABSOLUTE, RELATIVE, distances, needed, separated

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

MOST = 400  # members
CLIQUES = 20_000


def _solve(
    objective: int, rows: np.ndarray, least: float, most: float, seconds: float
) -> OptimizeResult:
    """Minimise objective·Σx over x ∈ {0, 1}^N with least ≤ rows·x ≤ most."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    N = rows.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return milp(
            np.full(N, float(objective)),
            constraints=LinearConstraint(csr_array(rows), least, most),
            integrality=np.ones(N),
            bounds=Bounds(0, 1),
            options={"time_limit": seconds},
        )


def _expect(metric: np.ndarray) -> np.ndarray:
    metric = np.asarray(metric, dtype=float)
    if metric.ndim != 2 or not 1 <= len(metric) <= MOST or metric.shape[0] != metric.shape[1]:
        raise InputError("distances", f"a square matrix of at most {MOST} members", metric.shape)
    if not np.isfinite(metric).all():
        raise InputError("distances", "finite numbers", "NaN or infinity")
    return metric


def _close(metric: np.ndarray, limit: float, scale: float) -> np.ndarray:
    close = metric <= limit * (1 + RELATIVE) + ABSOLUTE * scale
    np.fill_diagonal(close, True)
    return close | close.T


def _fewest(sets: np.ndarray, seconds: float) -> tuple[int, bool]:
    """How many of the sets (columns) are needed to cover all rows, at least; and is that proven?"""
    solution = _solve(1, sets.astype(float), 1.0, math.inf, seconds)
    if solution.status not in (0, 1):  # neither solved nor out of time
        raise DudleyError(f"smallest cover: the solver failed ({solution.message})")
    dual = solution.get("mip_dual_bound")
    proven = math.ceil(dual - 1e-6) if dual is not None and math.isfinite(dual) else 1
    proven = max(proven, 1)
    if solution.status == 0:
        chosen = solution.x > 0.5
        if not sets[:, chosen].any(axis=1).all():
            raise DudleyError("smallest cover: the solver's cover leaves members uncovered")
        return min(proven, int(chosen.sum())), proven >= int(chosen.sum())
    return proven, False


def _said(count: int, optimal: bool, what: str) -> LowerBound:
    how = "smallest" if optimal else "dual bound of the smallest"
    return LowerBound(float(down(math.log(count))), f"{how} cover by {what}: {count}")


def proper_cover(
    metric: np.ndarray, ε: float, scale: float | None = None, seconds: float = 20.0
) -> LowerBound:
    """log of the least number of members within ε of all members, from their distances.

    It bounds covers of this finite set by its own members, not of a larger class.

    >>> line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> print(proper_cover(line, 1.0))
    at least 0.693147 (smallest cover by members: 2)
    """
    metric = _expect(metric)
    needed(ε, 0.0)  # refuses what is no resolution
    sets = _close(metric, ε, float(metric.max()) if scale is None else scale)
    return _said(*_fewest(sets, seconds), "members")


def largest_packing(metric: np.ndarray, threshold: float, seconds: float = 20.0) -> list[int]:
    """The largest subset pairwise more than ``threshold`` apart (or a large one, out of time).

    >>> line = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> largest_packing(line, 1.0)
    [0, 2, 4]
    """
    metric = _expect(metric)
    close = np.argwhere(np.triu(metric <= threshold, 1))
    if not len(close):
        return list(range(len(metric)))
    pairs = np.zeros((len(close), len(metric)))
    pairs[np.arange(len(close)), close[:, 0]] = pairs[np.arange(len(close)), close[:, 1]] = 1
    solution = _solve(-1, pairs, -math.inf, 1.0, seconds)
    chosen = [] if solution.x is None else np.flatnonzero(solution.x > 0.5).tolist()
    apart = metric[np.ix_(chosen, chosen)][np.triu_indices(len(chosen), 1)] > threshold
    return max(chosen if apart.all() else [], separated(metric, threshold), key=len)


def packing(F: np.ndarray, ε: float, seconds: float = 20.0) -> LowerBound:
    """log N(ε) of a class that holds members with outputs F: a largest 2ε-separated set of them.

    >>> packing(np.array([[0.0], [1.0], [2.0], [3.0]]), 0.6).value   # 0 and 2, say
    0.693...
    """
    F = np.asarray(F, dtype=float)
    threshold = needed(ε, float(np.abs(F).max(initial=0.0)))
    count = len(largest_packing(distances(F), threshold, seconds))
    what = f"largest of {len(F)} members: {count}, more than 2ε apart"
    return LowerBound(float(down(math.log(count))), what)


def scalar_cover(F: np.ndarray, ε: float, seconds: float = 20.0) -> LowerBound:
    """log of the least number of arbitrary centres for members with scalar outputs F (N, points).

    Members share a centre if and only if any two of them differ by at most 2ε at every point: at
    each point the intervals [f − ε, f + ε] then meet, and the middle of the extremes is in all. So
    the least cover is the least number of cliques of "within 2ε". It bounds any class with these
    members, and is at least as large as any packing.

    >>> ring = np.eye(5) - np.roll(np.eye(5), 2, axis=0)    # five in a ring, neighbours close
    >>> print(scalar_cover(ring, 0.6))
    at least 1.09861 (smallest cover by any functions: 3)
    >>> print(packing(ring, 0.6))
    at least 0.693147 (largest of 5 members: 2, more than 2ε apart)
    """
    F = np.asarray(F, dtype=float)
    if F.ndim == 3 and F.shape[2] == 1:
        F = F[:, :, 0]
    if F.ndim != 2:
        raise InputError("outputs", "one number per point: (members, points)", F.shape)
    needed(ε, 0.0)
    close = _close(_expect(distances(F)), 2 * ε, float(np.abs(F).max(initial=0.0)))
    cliques = _cliques(close)
    sets = np.array([[i in clique for clique in cliques] for i in range(len(F))])
    return _said(*_fewest(sets, seconds), "any functions")


def _cliques(close: np.ndarray) -> list[set[int]]:
    """All maximal cliques (Bron and Kerbosch, with pivots)."""
    near = [set(np.flatnonzero(row).tolist()) - {i} for i, row in enumerate(close)]
    cliques: list[set[int]] = []
    todo: list[tuple[set[int], set[int], set[int]]] = [(set(), set(range(len(close))), set())]
    while todo:
        clique, candidates, done = todo.pop()
        if not candidates and not done:
            cliques.append(clique)
            if len(cliques) > CLIQUES:
                raise InputError("scalar cover", f"at most {CLIQUES} cliques", "more", "use fewer")
            continue
        pivot = max(candidates | done, key=lambda v: len(near[v] & candidates))
        for v in list(candidates - near[pivot]):
            todo.append((clique | {v}, candidates & near[v], done & near[v]))
            candidates = candidates - {v}
            done = done | {v}
    return cliques

"""Hull: a block's entropy as the vertices that a multiplier can choose, and the steps between.

For a multiplier λ a block takes the relative resolution x ∈ (0, 1] of its radius that minimises
H(x) + λ·reach·x: always a vertex of the lower convex hull of H. Entropies are tabulated once,
finer where they grow faster, and in log space: x = e^{−y}, log H.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dudley.calculus.memory import forget as forget, remembered
from dudley.core.entropy import Entropy


class Hull(NamedTuple):
    """Vertices (y, log H) of a lower convex hull, log slopes between, and the tabulated steps."""

    y: np.ndarray
    log_H: np.ndarray
    slopes: np.ndarray
    steps: tuple[np.ndarray, np.ndarray]  # far end of each step of the table, and its log H

    def vertices(self, log_prices: np.ndarray) -> np.ndarray:
        """Which vertex each price of the budget buys; NaN, of ∞ − ∞, buys nothing."""
        return np.searchsorted(self.slopes, np.fmax(log_prices, -math.inf))

    def y_of(self, vertices: np.ndarray) -> np.ndarray:
        return self.y[vertices]

    def log_H_of(self, vertices: np.ndarray) -> np.ndarray:
        return self.log_H[vertices]

    def at(self, y: np.ndarray) -> np.ndarray:
        """log H at resolutions e^{−y}, by the next finer one that is tabulated."""
        ends, log_H = self.steps
        return np.append(log_H, math.inf)[np.searchsorted(ends, y)]

    def finest(self, log_H: np.ndarray) -> np.ndarray:
        """The finest resolution, as y, that a price of the table buys."""
        ends, prices = self.steps
        return ends[np.minimum(np.searchsorted(prices, log_H), len(ends) - 1)]


class HullsBeside:
    """Hulls side by side, each for so many columns: asked like one hull, of rows × columns."""

    def __init__(self, hulls: Sequence[Hull], columns: Sequence[int]) -> None:
        ends = np.cumsum(columns)
        new = [i for i, h in enumerate(hulls) if i == 0 or h is not hulls[i - 1]]
        starts = [0, *ends[[i - 1 for i in new[1:]]]]
        stops = [*starts[1:], ends[-1]]
        self.runs = [(hulls[i], slice(*at)) for i, *at in zip(new, starts, stops, strict=True)]

    def some(self, columns: np.ndarray) -> HullsBeside:
        """The same for some columns, in their order."""
        counts = [int(((columns >= s.start) & (columns < s.stop)).sum()) for _, s in self.runs]
        some = [(h, count) for (h, _), count in zip(self.runs, counts, strict=True) if count]
        return HullsBeside(*map(list, zip(*some, strict=True)))

    def _each(self, name: str, values: np.ndarray) -> np.ndarray:
        parts = [getattr(h, name)(values[:, here]) for h, here in self.runs]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def vertices(self, log_prices: np.ndarray) -> np.ndarray:
        return self._each("vertices", log_prices)

    def y_of(self, vertices: np.ndarray) -> np.ndarray:
        return self._each("y_of", vertices)

    def log_H_of(self, vertices: np.ndarray) -> np.ndarray:
        return self._each("log_H_of", vertices)

    def at(self, y: np.ndarray) -> np.ndarray:
        return self._each("at", y)


_COARSE = np.concatenate([np.arange(0, 12, 0.05), 12 * 1.05 ** np.arange(310)])  # to e^{−4·10^7}
_FEW = 4 * math.log(2)  # numbers of examples for which covers on points are known not to help
_STEP, _MOST = 0.01, 100  # between coarse nodes, as many as keep steps of log H near one percent


@remembered(256)
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


@remembered(1024)
def _table(entropy: Entropy, nodes_of: Entropy, log_n: float | None) -> np.ndarray:
    """log H of one part of an entropy, at the nodes of another."""
    return entropy.log_log(entropy.log_radius - _nodes(nodes_of), log_n)


def _where_less(
    table: np.ndarray, entropy: Entropy, nodes_of: Entropy, log_n: float | None
) -> np.ndarray:
    """log H of a part that counts points, infinite where the table is less for fewer of them.

    Fewer are one per example, for a sixteenth of the examples or more. Along T and n only the other
    nodes are computed anew: none or a quarter of them, for most classes.
    """
    fewest = entropy.on_fewest_points()
    if fewest == entropy or log_n is None:
        return _table(entropy, nodes_of, log_n)
    log_H = np.full(table.shape, math.inf)
    log_few = math.floor(log_n / _FEW) * _FEW
    may_help = _table(fewest, nodes_of, log_few) < table
    if may_help.any():
        nodes = _nodes(nodes_of)[may_help]
        log_H[may_help] = entropy.log_log(entropy.log_radius - nodes, log_n)
    return log_H


def hull(entropy: Entropy, log_n: float | None) -> Hull:
    """Vertices (y, log H) of the lower convex hull of H(x), x = e^{−y}, and log slopes between.

    Resolutions are relative to the radius, so classes that differ by a factor share one hull.
    """
    return _hull(entropy.unit(), log_n)


@remembered(512)
def _hull(entropy: Entropy, log_n: float | None) -> Hull:
    uniform, *others = entropy.parts()
    y, table = _nodes(uniform), _table(uniform, uniform, log_n if uniform.uses_points else None)
    log_H = np.minimum.reduce([table, *(_where_less(table, x, uniform, log_n) for x in others)])
    if others and np.array_equal(log_H, table):  # the number of points helps nowhere
        return _hull(uniform, None)
    log_H = np.maximum.accumulate(np.where(y == 0, -math.inf, log_H))
    ends = np.append(log_H[1:] > log_H[:-1], True) & (log_H < math.inf)  # far end of each step
    y, log_H = y[ends], log_H[ends]
    return Hull(*_vertices(y, log_H), (y, log_H))


def _vertices(y: np.ndarray, log_H: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The lower convex hull of points in the order of y.

    A point on or above the chord of two others is not a vertex. First go those above the hull of
    every sixteenth point, which bridges what is far from convex; then, again and again, those
    above the chord of their neighbours; what that leaves unsettled is scanned point by point.
    """
    coarse = np.append(np.arange(0, len(y) - 1, 16), len(y) - 1)
    coarse = coarse[_scan(y[coarse].tolist(), log_H[coarse].tolist())]
    keep = _below(y, log_H, coarse)
    for _ in range(64):
        y, log_H = y[keep], log_H[keep]
        slopes = _log_slopes(y, log_H)
        keep = np.ones(len(y), dtype=bool)
        keep[1:-1] = slopes[:-1] < slopes[1:]
        if keep.all():
            return y, log_H, slopes
    ends = _scan(y.tolist(), log_H.tolist())
    return y[ends], log_H[ends], _log_slopes(y[ends], log_H[ends])


def _below(y: np.ndarray, log_H: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Which points are below the chord of the two ``ends`` around them, or are such an end."""
    keep = np.zeros(len(y), dtype=bool)
    keep[ends] = True
    inside = np.flatnonzero(~keep)
    right = np.searchsorted(ends, inside)
    a, b = ends[right - 1], ends[right]
    before = _log_slope(y[a], log_H[a], y[inside], log_H[inside])
    after = _log_slope(y[inside], log_H[inside], y[b], log_H[b])
    keep[inside] = before < after
    return keep


def _scan(y: list[float], log_H: list[float]) -> list[int]:
    """The vertices in one pass: a point goes when the next one makes it lie above a chord."""
    vertices: list[int] = []
    slopes: list[float] = []
    for i in range(len(y)):
        slope = -math.inf
        while vertices:
            k = vertices[-1]
            rise = log_H[i] + math.log(-math.expm1(log_H[k] - log_H[i]))
            slope = rise + y[k] - math.log(-math.expm1(y[k] - y[i]))
            if not slopes or slopes[-1] < slope:
                break
            vertices.pop()
            slopes.pop()
        if vertices:
            slopes.append(slope)
        vertices.append(i)
    return vertices


def _log_slopes(y: np.ndarray, log_H: np.ndarray) -> np.ndarray:
    """log of (H_{k+1} − H_k)/(x_k − x_{k+1})."""
    return _log_slope(y[:-1], log_H[:-1], y[1:], log_H[1:])


def _log_slope(
    y: np.ndarray, log_H: np.ndarray, next_y: np.ndarray, next_log_H: np.ndarray
) -> np.ndarray:
    """log of (H′ − H)/(x − x′), x = e^{−y}."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = next_log_H + np.log(-np.expm1(log_H - next_log_H))
        run = -y + np.log(-np.expm1(y - next_y))
    return rise - run

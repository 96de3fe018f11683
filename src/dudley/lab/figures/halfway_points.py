"""The m at which half of the trials succeed, by T: the points that figures draw.

The first m of a grid whose observed share exceeds ½ lies below the true crossing more often than
above it, since noise in an early cell is enough. So figures draw `half_success` instead, as the
findings have it: where a logistic curve through all cells of a T is ½, with its profile interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from dudley.lab.statistics.halfway import half_success

WIDEST = 10.0  # an interval that goes further than tenfold says nothing: there is no point


@dataclass(frozen=True)
class HalfwayPoint:
    """m½ at one T with its interval; ``tried`` is the largest m of the grid."""

    T: int
    m: float
    interval: tuple[float, float]
    tried: int

    @property
    def beyond(self) -> bool:
        """Does m½ lie beyond the grid, so that the curve is continued?"""
        return self.m > self.tried


def halfway_points(rates: Sequence[dict[str, Any]]) -> list[HalfwayPoint]:
    """By T, from cells with ``T``, ``m``, ``successes`` and ``trials``.

    A T whose curve does not rise, or says too little, has no point.

    >>> rows = [{"T": 8, "m": m, "successes": k, "trials": 50} for m, k in ((10, 5), (40, 45))]
    >>> (point,) = halfway_points(rows)
    >>> round(point.m), point.beyond, [round(end) for end in point.interval]
    (20, False, [16, 25])
    """
    points = []
    for T in sorted({row["T"] for row in rates}):
        cells = [row for row in rates if row["T"] == T]
        if len({row["m"] for row in cells}) < 2:
            continue
        m, successes, trials = (
            [row[name] for row in cells] for name in ("m", "successes", "trials")
        )
        half = half_success(m, successes, trials)
        interval = (half.lowest, half.highest)
        narrow = half.m / WIDEST < half.lowest and half.highest < half.m * WIDEST
        if isfinite(half.m) and narrow:
            points.append(HalfwayPoint(T, half.m, interval, max(row["m"] for row in cells)))
    return points

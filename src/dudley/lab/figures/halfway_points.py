"""The m at which half of the trials succeed, by T: the points that figures draw, and their drawing.

The first m of a grid whose observed share exceeds ½ lies below the true crossing more often than
above it, since noise in an early cell is enough. So figures draw `half_success` instead, as the
findings have it: where a logistic curve through all cells of a T is ½, with its profile interval.
Every finite m½ is drawn; an end of its interval that the data do not determine becomes an arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from dudley.lab.statistics.halfway import half_success
from dudley.show.figures import style

ARROW = 1.4  # how far an arrow goes from its point, as a ratio


@dataclass(frozen=True)
class HalfwayPoint:
    """m½ at one T with its interval, whose ends may be 0 and infinity: not determined.

    ``beyond``: m½ lies outside of the m that were tried, so that the curve is continued.
    """

    T: int
    m: float
    interval: tuple[float, float]
    beyond: bool


def halfway_points(rates: Sequence[dict[str, Any]]) -> list[HalfwayPoint]:
    """By T, from cells with ``T``, ``m``, ``successes`` and ``trials``.

    A T whose curve does not rise has no m½, and no point.

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
        if isfinite(half.m):
            points.append(HalfwayPoint(T, half.m, (half.lowest, half.highest), half.beyond))
    return points


def about_points(points: Sequence[HalfwayPoint]) -> str:
    """What a caption says of m½: of triangles and arrows only where there are some.

    >>> about_points([HalfwayPoint(8, 20.0, (16.0, 25.0), False)])
    'm½, where a logistic curve through all cells of a T is ½, with 95 % intervals'
    """
    signs = []
    if any(point.beyond for point in points):
        signs.append("triangles: outside of the m tried, so the curve is continued")
    if not all(determined(end) for point in points for end in point.interval):
        signs.append("arrows: an end that the outcomes do not determine")
    text = "m½, where a logistic curve through all cells of a T is ½, with 95 % intervals"
    return text + (f" ({'; '.join(signs)})" if signs else "")


def draw_points(axis, points: Sequence[HalfwayPoint], label: str, color: str) -> None:
    """m½ with its intervals; open triangles where the m tried do not reach it, arrows at an end."""
    for beyond, words in ((False, label), (True, f"{label}, beyond the m tried")):
        some = [point for point in points if point.beyond is beyond]
        if some:
            face = {"marker": "^", "mfc": "white"} if beyond else {"marker": "o"}
            T, m = ([getattr(point, name) for point in some] for name in ("T", "m"))
            ends = [tuple(end if determined(end) else None for end in p.interval) for p in some]
            style.bars(axis, T, m, ends, label=words, color=color, ls="", **face)
    for i, side, sign, ratio in ((0, "lower", "down", 1 / ARROW), (1, "upper", "up", ARROW)):
        some = [point for point in points if not determined(point.interval[i])]
        if some:
            T, tips = [point.T for point in some], [point.m * ratio for point in some]
            axis.vlines(T, [point.m for point in some], tips, color=color, lw=0.9)
            arrow = {"marker": rf"$\{sign}arrow$", "ms": 10, "ls": "", "color": color}
            axis.plot(T, tips, label=f"{side} end not determined", **arrow)


def determined(end: float) -> bool:
    return end > 0 and isfinite(end)

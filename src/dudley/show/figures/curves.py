"""What a figure of a comparison shows, without saying how it is drawn: panels of curves.

Ordinates are log₁₀ of the bound, since covers of deep networks leave the floats. Where a form is
refused there is a gap; where it is negative or zero there is a gap too, and the point is listed
among ``below``, to be marked at the lower edge: such a formula bounds nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.bound import Bound
from dudley.core.errors import InputError
from dudley.theorems.comparison import KINDS, SCALED_TO_ONE, Comparison, ComparisonRow, Crossing


@dataclass(frozen=True)
class Curve:
    """One form of one statement along the axis."""

    id: str
    form: str
    verdict: str  # the word on the printed form, with the version that was examined
    order: int  # of the statement within its panel: chooses the colour
    log10: tuple[float | None, ...]
    below: tuple[int, ...]

    @property
    def refuted(self) -> bool:
        """Is this the printed form of a statement that is false as printed?"""
        return self.form == "printed" and self.is_false

    @property
    def is_false(self) -> bool:
        return self.verdict.startswith("false")

    @property
    def version(self) -> str:
        """The version in which the printed form is false, in brackets."""
        return self.verdict.partition(" ")[2]

    @property
    def label(self) -> str:
        return f"{self.id} {self.form}" + (f", {self.verdict}" if self.refuted else "")


@dataclass(frozen=True)
class Level:
    """What holds without any theory, along the axis, and for which statements."""

    label: str
    log10: tuple[float | None, ...]


@dataclass(frozen=True)
class Panel:
    """The curves of one kind of quantity."""

    measure: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...]
    crossings: tuple[Crossing, ...]

    @property
    def statements(self) -> dict[str, str]:
        """The statements in the panel, with the word on each and the version it is about."""
        return {curve.id: curve.verdict for curve in self.curves}


def panels(comparison: Comparison) -> list[Panel]:
    """The panels of a swept comparison, one for each kind of quantity that moves along the axis.

    Where nothing moves at all, every kind has its panel.
    """
    if comparison.sweep is None:
        raise InputError("figure", "a sweep, such as n=1e3:1e9:log40", "one point")
    drawn = []
    for measure, rows in comparison.groups.items():
        ids = {row.id for row in rows}
        curves = [c for k, row in enumerate(rows) for c in _curves(row, k) if _seen(c)]
        if curves:
            crossings = tuple(c for c in comparison.crossings if c.id in ids)
            drawn.append(Panel(measure, tuple(curves), _levels(measure, rows), crossings))
    moving = [panel for panel in drawn if any(map(_moves, panel.curves))]
    return moving or drawn


def _moves(curve: Curve) -> bool:
    return len(set(curve.log10)) > 1


def _seen(curve: Curve) -> bool:
    return any(y is not None for y in curve.log10) or bool(curve.below)


def _curves(row: ComparisonRow, order: int):
    for form in row.curves:
        bounds = row.bounds(form)
        below = tuple(i for i, b in enumerate(bounds) if b is not None and log10(b) is None)
        heights = tuple(None if b is None else log10(b) for b in bounds)
        yield Curve(row.id, form, row.statement.standing, order, heights, below)
    yield from _kinds(row, order)


def _kinds(row: ComparisonRow, order: int):
    """Parameter counting and norm-based, where a statement tells them apart."""
    for form in row.curves:
        for kind, words in KINDS.items():
            ratios = [None if b is None else b.details.get(kind) for b in row.bounds(form)]
            if any(v is not None for v in ratios):
                heights = tuple(math.log10(v) if v else None for v in ratios)
                verdict = row.statement.standing
                yield Curve(row.id, f"{form}, {words}", verdict, order, heights, ())


def log10(bound: Bound) -> float | None:
    """log₁₀ of a bound; ``None`` where it is zero or negative."""
    if bound.negative is not None or bound.log_value == -math.inf:
        return None
    return bound.log_value / math.log(10)


def _levels(measure: str, rows: list[ComparisonRow]) -> tuple[Level, ...]:
    statements: dict[tuple, list[str]] = {}
    for row in rows:
        trivial = [b.trivial if b is not None else math.inf for b in row.bounds("derived")]
        heights = tuple(math.log10(t) if 0 < t < math.inf else None for t in trivial)
        if any(y is not None for y in heights):
            statements.setdefault(heights, []).append(row.id)
    count = max((len(h) for row in rows for h in row.curves.values()), default=0)
    ones = (0.0,) * count
    levels = [
        Level(f"trivial: {_short(ids)}", heights)
        for heights, ids in statements.items()
        if heights != ones
    ]
    if ones in statements or measure in SCALED_TO_ONE:
        levels.append(Level("1", ones))
    return tuple(levels)


def _short(ids: list[str]) -> str:
    first = ids[0].partition("/")[2]
    return f"{first} and {len(ids) - 1} more" if ids[1:] else first

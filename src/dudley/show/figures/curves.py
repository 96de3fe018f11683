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
from dudley.core.statement import MEASURES
from dudley.theorems.by_form import ByForm
from dudley.theorems.comparison import KINDS, SCALED_TO_ONE, Comparison, ComparisonRow, Crossing
from dudley.theorems.gaps import Gaps


@dataclass(frozen=True)
class Curve:
    """One form of one statement along the axis."""

    id: str
    form: str
    verdict: str  # the word on the printed form, with the version that was examined
    order: int  # of the statement within its panel: chooses the colour
    log10: tuple[float | None, ...]
    below: tuple[int, ...]
    still: str = ""  # in words, that it does not move along the axis

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
    """The curves of one kind of quantity, of one class of functions."""

    heading: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...]
    crossings: tuple[Crossing, ...]

    @property
    def statements(self) -> dict[str, str]:
        """The statements in the panel, with the word on each and the version it is about."""
        return {curve.id: curve.verdict for curve in self.curves}


def panels(result: Comparison | Gaps) -> list[Panel]:
    """The panels of a sweep: one for what is bounded and of what.

    What does not depend on the axis is drawn as well, flat: that is the answer there. Of the
    quantities that are parts of proofs only those that move have a panel.
    """
    if result.sweep is None:
        raise InputError("figure", "a sweep, such as n=1e3:1e9:log40", "one point")
    if isinstance(result, Gaps):
        return _gap_panels(result)
    drawn, axis = [], result.sweep.name
    for heading, rows in result.groups.items():
        ids = {row.id for row in rows}
        curves = [c for k, row in enumerate(rows) for c in _curves(row, k, axis) if _seen(c)]
        if any(map(_moves, curves)) or (curves and rows[0].statement.measure != MEASURES[-1]):
            crossings = tuple(c for c in result.crossings if c.id in ids)
            measure = rows[0].statement.measure
            drawn.append(Panel(heading, tuple(curves), _levels(measure, rows), crossings))
    return drawn


def _gap_panels(result: Gaps) -> list[Panel]:
    """Gaps by class, best first; above the level they say nothing."""
    axis = "" if result.sweep is None else result.sweep.name
    heights = (math.log10(result.task.range),) * len(result.points)
    levels = (Level("range of the loss", heights),)
    drawn = []
    for heading, rows in result.groups.items():
        curves = [c for k, row in enumerate(rows) for c in _curves(row, k, axis) if _seen(c)]
        drawn += [Panel(heading, tuple(curves), levels, ())] if curves else []
    return drawn


def _moves(curve: Curve) -> bool:
    return len(set(curve.log10)) > 1


def _seen(curve: Curve) -> bool:
    return any(y is not None for y in curve.log10) or bool(curve.below)


def _curves(row: ByForm, order: int, axis: str):
    for form in row.curves:
        bounds = row.bounds(form)
        below = tuple(i for i, b in enumerate(bounds) if b is not None and log10(b) is None)
        heights = tuple(None if b is None else log10(b) for b in bounds)
        still = row.still(form, axis)
        yield Curve(row.id, form, row.standing, order, heights, below, still)
    yield from _kinds(row, order, axis)


def _kinds(row: ByForm, order: int, axis: str):
    """Parameter counting and norm-based, where a statement tells them apart."""
    for form in row.curves:
        for kind, words in KINDS.items():
            ratios = [None if b is None else b.details.get(kind) for b in row.bounds(form)]
            if any(v is not None for v in ratios):
                heights = tuple(math.log10(v) if v else None for v in ratios)
                name, still = f"{form}, {words}", row.still(form, axis)
                yield Curve(row.id, name, row.standing, order, heights, (), still)


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

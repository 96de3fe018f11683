"""The gap of the network that a situation describes, as it is drawn."""

from __future__ import annotations

import math
from typing import Any

from dudley.calculus.memory import sweeping
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import describe
from dudley.networks.described import ID, MATRICES as MATRICES, gap_of as gap_of
from dudley.show.as_html import fragment
from dudley.show.document import Chart, Document, Line
from dudley.show.figures.curves import log10
from dudley.web.attend import Visitor

NAME = "calculus"
MEASURE = "risk − training loss"


def at(values: dict[str, float]) -> dict[str, Any]:
    """The gap at one point, or why there is none."""
    gap = gap_of(values)
    answer = {"refused": gap} if isinstance(gap, str) else gap.to_json()
    return {"id": ID, "measure": MEASURE} | answer


def along(values: dict[str, float], sweep: Sweep, visitor: Visitor) -> dict[str, Any]:
    """The gap along an axis, as a chart; nothing where the situation describes no network."""
    heights: list[float | None] = []
    trivial: list[float | None] = []
    points = [{**values, sweep.name: value} for value in sweep.values]
    with sweeping([point["n"] for point in points if "n" in point] or [1]):
        for point in points:
            visitor.expect_present()
            gap = gap_of(point)
            heights.append(None if isinstance(gap, str) else log10(gap))
            trivial.append(None if isinstance(gap, str) else math.log10(gap.trivial))
    if all(y is None for y in heights):
        return {}
    level = Line("trivial", tuple(trivial))
    line = Line(f"{ID} derived", tuple(heights), "derived", 0)
    drawn = Chart(
        sweep.name, describe(sweep.name), sweep.values, (line,), log=sweep.log, levels=(level,)
    )
    return {MEASURE: fragment(Document("", (drawn,)))["charts"][0]}

"""Figures for an experiment that has none of its own: the numbers of its findings.

Each list of records (a table in ``numbers``) becomes a panel: its first numeric field along the
horizontal axis, every other numeric field a curve, intervals [low, high] as bars.
"""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any

from dudley.lab.experiment import Finding
from dudley.lab.figures.sketch import Sketch
from dudley.lab.pages.results import Results
from dudley.show.figures import style

MOST = 6  # curves in a panel


def plain(results: Results) -> list[Sketch]:
    """One sketch for each finding that has a table, or one that lists the verdicts."""
    drawn = [
        Sketch(f"finding-{i + 1}", f"{key}.", partial(_records, key, rows), (finding,))
        for i, finding in enumerate(results.findings)
        for key, rows in list(records(finding).items())[:1]
    ]
    if drawn:
        return drawn
    shows = f"{results.name}: verdicts."
    size = (6.4, 1.2 + 0.4 * len(results.findings))
    return [Sketch("verdicts", shows, partial(_verdicts, results.findings), size=size, prose=True)]


def records(finding: Finding) -> dict[str, list[dict[str, Any]]]:
    """The tables among the numbers of a finding."""
    return {
        key: value
        for key, value in finding.numbers.items()
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    }


def numeric(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def interval(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(numeric, value))


def _records(key: str, rows: list[dict[str, Any]], axes: list) -> None:
    (axis,) = axes
    fields = [field for field in rows[0] if all(numeric(row.get(field)) for row in rows)]
    across, *curves = fields or [""]
    if not curves:
        style.note(axis, f"{len(rows)} rows", (0.4, 0.5))
        return
    for i, field in enumerate(curves[:MOST]):
        points = sorted((row[across], row[field]) for row in rows)
        axis.plot(*zip(*points, strict=True), label=field, **style.distinct(i))
    axis.set(xlabel=across, ylabel=key)
    style.legend_above(axis)


def _verdicts(findings: list[Finding], axes: list) -> None:
    (axis,) = axes
    axis.axis("off")
    for i, finding in enumerate(findings):
        place = 1 - (i + 0.5) / max(1, len(findings))
        axis.text(0, place, f"{finding.verdict}: {finding.claim[:70]}", fontsize=8, va="center")

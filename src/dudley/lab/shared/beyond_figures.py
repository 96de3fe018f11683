"""Figures of the studies beyond the papers: means by setting, with 95 % intervals.

Each study states its cells in the numbers of a finding: a record has the setting (``L``, ``m``)
and for each quantity a record with ``mean`` and ``interval``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, isfinite
from numbers import Real
from typing import Any

from dudley.lab.experiment import Finding
from dudley.lab.figures.sketch import Sketch
from dudley.lab.pages.results import Results
from dudley.show.figures import style

WORDS = {
    "holdout": "hold-out accuracy",
    "train": "training accuracy",
    "gap": "measured gap of the bounded loss",
    "gap_bound": "derived bound on the gap",
    "risk_bound": "derived bound on the error",
    "theorem_gap": "Theorem 5.1, derived, on the gap",
    "bayes": "best possible accuracy",
    "log10_needed_n": "log₁₀ n that the bound asks for",
    "accuracy": "accuracy",
    "learnt": "share of networks with accuracy ≥ .9",
    "mass": "attention on the hidden bits",
    "ones": "share of answers 1",
}
SPANS = {"log10_needed_n": 1.0}  # the least that a vertical axis shows: one decade of n
SPAN = 0.1  # of all others, which are probabilities or losses
APART = 0.03  # between neighbouring curves, as a share of the axis: intervals hide no intervals
Row = dict[str, Any]


def by_setting(
    results: Results, x: str, by: Sequence[str], label: str, shows: str = "", key: str = "cells"
) -> list[Sketch]:
    """One panel for each quantity of the cells, ``x`` across, a curve for each value of ``by``.

    A quantity that is the same in all cells has no panel: the text says its value.
    """
    rows = gathered(results, key)
    by = [name for name in by if all(name in row for row in rows)]
    names = [name for name in WORDS if all(isinstance(row.get(name), dict) for row in rows)]
    constant = {name: value for name in names if (value := constant_value(rows, name)) is not None}
    names = [name for name in names if name not in constant]
    columns = 2 if len(names) == 4 else min(3, len(names)) or 1
    lines = -(-len(names) // columns) or 1
    telling: list[Finding] = [f for f in results.findings if f.numbers]
    text = shows or f"Means over trials with 95 % intervals, by {label}."
    if constant:
        values = "; ".join(f"{WORDS[name]} {value:g}" for name, value in constant.items())
        text += f" The same in all cells, and not drawn: {values}."
    return [
        Sketch(
            "cells",
            text,
            partial(panels, rows, names, x, tuple(by), label),
            tuple(telling[:3]),
            panels=(lines, columns),
            size=(max(6.4, 3.6 * columns), 3.2 * lines + 1.3),
        )
    ]


def constant_value(rows: list[Row], name: str) -> float | None:
    """The value of a quantity that is the same in every cell and has no scatter, else None."""
    numbers = {end for row in rows for end in (row[name]["mean"], *row[name]["interval"])}
    return numbers.pop() if len(numbers) == 1 else None


def gathered(results: Results, key: str) -> list[Row]:
    """The cells of all findings, each once."""
    results.with_number(key)
    cells: list[Row] = []
    for finding in results.findings:
        cells += [row for row in finding.numbers.get(key, []) if row not in cells]
    return cells


def panels(
    rows: list[Row], names: list[str], x: str, by: tuple[str, ...], label: str, axes: list
) -> None:
    groups = list(dict.fromkeys(tuple(row[name] for name in by) for row in rows))
    places = list(dict.fromkeys(row[x] for row in rows))
    numeric = all(isinstance(place, Real) and isfinite(place) for place in places)
    log = numeric and min(places) > 0 and max(places) >= 4 * min(places)
    for axis, name in zip(axes, names, strict=False):
        for i, group in enumerate(groups):
            of_group = [row for row in rows if tuple(row[n] for n in by) == group]
            shift = APART * (i - (len(groups) - 1) / 2)
            where = [row[x] if numeric else places.index(row[x]) for row in of_group]
            ends = (min(places), max(places)) if numeric else (0, len(places) - 1)
            at = [beside(place, shift, ends, log) for place in where]
            y = [row[name]["mean"] for row in of_group]
            look = style.ordered(i, len(groups)) | ({} if numeric else {"ls": ""})
            words = ", ".join(f"{n} = {v}" for n, v in zip(by, group, strict=True))
            style.bars(
                axis, at, y, [row[name]["interval"] for row in of_group], label=words, **look
            )
        if log:
            axis.set_xscale("log")
        if numeric:
            style.whole_ticks(axis, sorted(places))
        else:
            words = list(map(named, places))
            crowded = sum(map(len, words)) > 36
            axis.set_xticks(range(len(places)), words)
            axis.tick_params("x", rotation=40 if crowded else 0)
        most = 1.01 if "accuracy" in WORDS[name] else inf
        style.least_span(axis, SPANS.get(name, SPAN), most)
        axis.set(xlabel=label, ylabel=WORDS[name])
    for axis in axes[len(names) :]:
        axis.axis("off")
    if names and by:
        style.common_legend(axes[: len(names)])


def beside(place: float, shift: float, ends: tuple[float, float], log: bool) -> float:
    """A place moved by a share of the axis.

    >>> beside(2.0, 0.1, (1.0, 5.0), log=False), round(beside(10.0, 0.5, (1.0, 100.0), log=True))
    (2.4, 100)
    """
    low, high = ends
    return place * (high / low) ** shift if log else place + shift * (high - low)


def named(place: Any) -> str:
    """A setting on the axis; a radius without end is none.

    >>> named(float("inf")), named(None), named(2.0), named("relu")
    ('free', 'free', '2', 'relu')
    """
    if isinstance(place, str):
        return place
    return f"{place:g}" if place is not None and isfinite(place) else "free"

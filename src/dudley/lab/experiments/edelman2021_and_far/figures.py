"""Figures of sparse AND at long T: critical m to 10⁵, both protocols compared, fates of runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dudley.lab.experiments.edelman2021_and.figures import (
    about_laws,
    finish_success,
    half_success,
    predicted,
)
from dudley.lab.figures.halfway_points import about_points, halfway_points
from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.show.figures import style

FATES = {
    "generalised": ("#009E73", ""),
    "did_not_generalise": ("#E69F00", "//"),
    "did_not_fit": ("#444444", "xx"),
}

DIFFERENCES = {"rate": "mean success rate", "exponent": "exponent α"}


@sketches("edelman2021-and-far")
def figures(results: Results) -> list[Sketch]:
    grown, fates = results.with_number("critical"), results.with_number("did_not_fit")
    same = results.with_number("rate")
    laws = tuple(f for f in results.findings if "law" in f.numbers)  # with the α of what is drawn
    rates = same.numbers["collapsed"] + grown.numbers["rates"]
    lengths = sorted({row["T"] for row in grown.numbers["rates"]})
    count = len({row["T"] for row in fates.numbers["cells"]})
    return [
        Sketch(
            "success",
            "Trained without dropout of embeddings and attention weights, another protocol than "
            "the paper's: share of successes against m at long T, 95 % Wilson intervals shaded.",
            partial(success, grown.numbers["rates"], lengths),
            (grown,),
            panels=(1, len(lengths)),
            size=(max(6.4, 2.4 * len(lengths)), 3.6),
        ),
        Sketch(
            "growth",
            "Trained without dropout of embeddings and attention weights, another protocol than "
            f"the paper's: {about_points(halfway_points(rates))}, on logarithmic axes. "
            f"{about_laws(grown.numbers.get('growth'))}",
            partial(growth, rates, grown.numbers),
            laws or (grown,),
            panels=(1, 1),
            size=(8.0, 6.0),
        ),
        Sketch(
            "protocols",
            "Left: success rate of each cell of the paper's grid, with the printed dropout and "
            "without that of embeddings and attention weights. Right: the differences of the two "
            "protocols, with 95 % intervals; shaded: what was to count as the same.",
            partial(protocols, same.numbers),
            (same,),
            panels=(1, 2),
            size=(10.0, 5.2),
        ),
        Sketch(
            "fates",
            "What became of the runs at long T; a run that did not generalise fitted its sample.",
            partial(ends, fates.numbers["cells"]),
            (fates,),
            panels=(1, count),
            size=(max(6.4, 2.6 * count), 4.0),
        ),
        *predicted(results, rates),
    ]


def success(rates: list[dict[str, Any]], lengths: list[int], axes: list) -> None:
    """A panel for each T: the intervals of so few trials would cover each other in one."""
    look = style.distinct(0) | {"label": "share of successes"}
    for axis, T in zip(axes, lengths, strict=True):
        rows = sorted((row for row in rates if row["T"] == T), key=lambda row: row["m"])
        m = [row["m"] for row in rows]
        axis.plot(m, [row["rate"] for row in rows], **look)
        style.band(axis, m, zip(*(row["interval"] for row in rows), strict=True), look["color"])
        finish_success(axis)
        axis.set(xscale="log", xlabel="m")
        style.whole_ticks(axis, spaced(m))
        style.setting(axis, f"T = {T:,}")
    for axis in axes[1:]:
        axis.set_ylabel("")
    style.common_legend(axes)


def growth(rates: list[dict[str, Any]], numbers: dict[str, Any], axes: list) -> None:
    (axis,) = axes
    half_success(axis, rates, numbers["critical"], numbers.get("growth"))
    axis.set(xscale="log", yscale="log", ylim=(20, axis.get_ylim()[1]))
    style.wide_log(axis, 1.0)


def spaced(values: list[int], least: float = 1.5) -> list[int]:
    """Some of the values, each at least so many times the one before.

    >>> spaced([100, 120, 150, 200, 400])
    [100, 150, 400]
    """
    ticks = values[:1]
    for value in values:
        if value >= least * ticks[-1]:
            ticks.append(value)
    return ticks


def protocols(numbers: dict[str, Any], axes: list) -> None:
    """The cells, and the two means that were to agree: a margin is about a mean, not a cell."""
    left, right = axes
    printed, collapsed = (
        {(row["T"], row["m"]): row["rate"] for row in numbers[name]}
        for name in ("printed", "collapsed")
    )
    lengths = sorted({T for T, _ in printed})
    for i, T in enumerate(lengths):
        cells_of_length = [cell for cell in printed if cell[0] == T and cell in collapsed]
        look = style.ordered(i, len(lengths)) | {"ls": ""}
        left.plot(
            [printed[c] for c in cells_of_length],
            [collapsed[c] for c in cells_of_length],
            label=f"T = {T}",
            **look,
        )
    left.plot([0, 1], [0, 1], color=style.GREY, lw=0.8, label="equal")
    left.set(xlabel="success rate, printed protocol", ylabel="success rate, fewer dropouts")
    left.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    style.legend_above(left, 4)
    differences = [name for name in DIFFERENCES if name in numbers]
    for i, name in enumerate(differences):
        record = numbers[name]
        around = {"color": style.GREY, "alpha": 0.2, "lw": 0, "label": "margin" if i == 0 else None}
        right.fill_between([i - 0.4, i + 0.4], -record["margin"], record["margin"], **around)
        look = style.distinct(i) | {"ls": "", "label": DIFFERENCES[name]}
        style.bars(right, [i], [record["difference"]], [record["interval"]], **look)
    right.axhline(0, color=style.GREY, lw=0.8)
    right.set_xticks(range(len(differences)), [DIFFERENCES[name] for name in differences])
    right.set(ylabel="fewer dropouts less printed protocol", xlim=(-0.6, len(differences) - 0.4))
    style.legend_above(right, 3)


def ends(cells: list[dict[str, Any]], axes: list) -> None:
    lengths = sorted({row["T"] for row in cells})
    for axis, T in zip(axes, lengths, strict=True):
        rows = sorted((row for row in cells if row["T"] == T), key=lambda row: row["m"])
        x, below = np.arange(len(rows)), np.zeros(len(rows))
        for name, (colour, hatch) in FATES.items():
            share = np.array([row[name] / row["trials"] for row in rows])
            axis.bar(
                x, share, bottom=below, color=colour, hatch=hatch, edgecolor="white", lw=0.5,
                label=name.replace("_", " "),
            )  # fmt: skip
            below += share
        axis.set_xticks(x, [str(row["m"]) for row in rows], rotation=60, fontsize=7)
        axis.set(xlabel="m", ylim=(0, 1))
        style.setting(axis, f"T = {T:,}")
        axis.grid(False)
    axes[0].set_ylabel("share of runs")
    axes[0].figure.align_xlabels(axes)
    style.common_legend(axes)

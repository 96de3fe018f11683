"""Figures of sparse AND at long T: critical m to 10⁵, both protocols compared, fates of runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dudley.lab.experiments.edelman2021_and.figures import crossings, curves_by_T, predicted
from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.show.figures import style

FATES = {
    "generalised": ("#009E73", ""),
    "did_not_generalise": ("#E69F00", "//"),
    "did_not_fit": ("#444444", "xx"),
}


@sketches("edelman2021-and-far")
def figures(results: Results) -> list[Sketch]:
    grown, fates = results.with_number("critical"), results.with_number("did_not_fit")
    same = results.with_number("rate")
    laws = [f for f in results.findings if "favoured" in f.numbers]
    return [
        Sketch(
            "growth",
            "Trained without dropout of embeddings and attention weights, another protocol than "
            "the paper's. Left: success against m at long T, with 95 % Wilson intervals. Right: "
            "critical m with the standard errors of 50 bootstraps (thick) and 95 % intervals "
            "(thin), on logarithmic axes; triangles: beyond the largest m.",
            partial(growth, grown.numbers),
            (grown, *laws),
            panels=(1, 2),
            size=(10.0, 5.3),
        ),
        Sketch(
            "protocols",
            "Success rate of each cell of the paper's grid, with the printed dropout and without "
            "that of embeddings and attention weights; dotted: the margin of the mean.",
            partial(protocols, same.numbers),
            (same,),
            panels=(1, 1),
            size=(6.4, 5.6),
        ),
        Sketch(
            "fates",
            "What became of the runs at long T.",
            partial(ends, fates.numbers["cells"]),
            (fates,),
            panels=(1, len({row["T"] for row in fates.numbers["cells"]})),
            size=(max(6.4, 2.6 * len({row["T"] for row in fates.numbers["cells"]})), 4.0),
        ),
        *predicted(results),
    ]


def growth(numbers: dict[str, Any], axes: list) -> None:
    left, right = axes
    curves_by_T(left, numbers["rates"])
    left.set_xscale("log")
    style.whole_ticks(left, spaced(sorted({row["m"] for row in numbers["rates"]})))
    crossings(right, numbers["critical"], numbers.get("growth"))
    right.set(xscale="log", yscale="log", ylim=(10, None))
    style.wide_log(right, 1.0)


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
    (axis,) = axes
    printed, collapsed = (
        {(row["T"], row["m"]): row["rate"] for row in numbers[name]}
        for name in ("printed", "collapsed")
    )
    lengths = sorted({T for T, _ in printed})
    for i, T in enumerate(lengths):
        cells_of_length = [cell for cell in printed if cell[0] == T and cell in collapsed]
        look = style.ordered(i, len(lengths)) | {"ls": ""}
        axis.plot(
            [printed[c] for c in cells_of_length],
            [collapsed[c] for c in cells_of_length],
            label=f"T = {T}",
            **look,
        )
    ends, margin = np.array([0.0, 1.0]), numbers["rate"]["margin"]
    axis.plot(ends, ends, color=style.GREY, lw=0.8)
    for shift in (-margin, margin):
        axis.plot(ends, ends + shift, color=style.GREY, lw=0.8, ls=":")
    axis.set(xlabel="success rate, printed protocol", ylabel="success rate, fewer dropouts")
    axis.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    axis.legend(loc="upper left", ncols=2)


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
        axis.set(xlabel="m", title=f"T = {T:,}", ylim=(0, 1))
        axis.grid(False)
    axes[0].set_ylabel("share of runs")
    axes[-1].legend(loc="upper right", framealpha=0.9, frameon=True)

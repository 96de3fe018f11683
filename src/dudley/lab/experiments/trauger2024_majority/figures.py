"""Figures of sparse majority: three panels against T (trauger2024's figures 1–3), and bounds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dudley.lab.experiment import Finding
from dudley.lab.experiments.trauger2024_majority.experiment import (
    FIGURES,
    NAMES,
    PLATEAU,
    quantities,
)
from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.show.figures import style

Columns = dict[str, np.ndarray]
VERSIONS = {"leaky": "as in the paper", "clean": "without the leak", "last": "last weights"}

DECADES = 10**1.5  # shown on either side of the mean n: three decades in all, not the noise


@sketches("trauger2024-majority")
def figures(results: Results) -> list[Sketch]:
    trials = results.table("trials")
    shown = [next(f for f in results.findings if f.claim == claim) for claim in FIGURES.values()]
    drawn = [
        Sketch(
            "trends",
            "Largest of the runs at each T, as the paper plots them (solid), on a hold-out that "
            "nothing was chosen by (dashed) and of the last weights (dash-dotted); dots: all runs "
            "as in the paper; grey: the least-squares line through all of them. Of the accuracy "
            "also the line through the longer T, where a plateau is tested, within the margin "
            "around its start (shaded): a line that changes by more leaves it.",
            partial(trends, trials, shown),
            tuple(shown),
            panels=(1, 3),
            size=(11.0, 6.0),
        )
    ]
    bounds = [f for f in results.findings if "runs" in f.numbers]
    if bounds:
        drawn.append(
            Sketch(
                "bounds",
                "At the trained norms: Corollary 4.1.1 printed (constant 1) and derived, the "
                "calculus' bound on the gap, and the measured gap; a triangle at the lower edge "
                "stands for a negative value. Right: examples until the calculus' bound says "
                "something, on an axis of three decades.",
                partial(bounded, bounds[0].numbers["runs"]),
                tuple(bounds),
                panels=(1, 2),
                size=(10.0, 4.9),
            )
        )
    return drawn


def trends(trials: Columns, shown: list[Finding], axes: list) -> None:
    for axis, (quantity, name), finding in zip(axes, NAMES.items(), shown, strict=True):
        points, test = finding.numbers["points"], finding.numbers["trend"]["leaky"]
        T = [row["T"] for row in points]
        every = quantities(trials, "leaky")[quantity]
        axis.plot(
            trials["T"], every, ls="", marker=".", ms=4, color="#999999",
            label="all runs, as in the paper",
        )  # fmt: skip
        for i, (version, words) in enumerate(VERSIONS.items()):
            if quantity == "l1" and version == "clean":
                continue  # the same weights, so the same norms
            largest = [row[f"{version}_max"] for row in points]
            axis.plot(T, largest, label=f"largest, {words}", **style.distinct(i))
        middle = float(np.mean(trials["T"]))
        ends = np.array([min(T), max(T)])
        line = every.mean() + test["change"] * (ends - middle) / np.ptp(trials["T"])
        axis.plot(ends, line, color=style.GREY, lw=1.0, label="least squares, all runs")
        if "plateau" in finding.numbers:
            draw_plateau(axis, trials["T"], every, finding.numbers["plateau"])
        axis.set_title(name)
        axis.set(xlabel="T (sequence length)", ylabel=name)
        if quantity == "gap":  # the last weights' is twenty times the others'
            axis.set_yscale("symlog", linthresh=0.2)
            axis.set_yticks([0, 0.1, 0.2, 0.5, 1, 2], ["0", "0.1", "0.2", "0.5", "1", "2"])
            axis.minorticks_off()
    style.common_legend(axes, 5)


def draw_plateau(axis, T: np.ndarray, y: np.ndarray, test: dict[str, Any]) -> None:
    """The line through the longer T, and the band that it has to stay in."""
    part = PLATEAU[0] * T.max() <= T
    T, y = T[part], y[part]
    ends = np.array([T.min(), T.max()])
    line = y.mean() + test["change"] * (ends - T.mean()) / np.ptp(T)
    look = {"color": "#CC79A7", "lw": 2.0}
    axis.plot(ends, line, label=f"least squares, T ≥ {T.min()}", **look)
    margin = test["margin"]
    axis.fill_between(
        ends, line[0] - margin, line[0] + margin, color=look["color"], alpha=0.2, lw=0,
        label=f"margin of its change, ±{margin:g}",
    )  # fmt: skip


def bounded(rows: list[dict[str, Any]], axes: list) -> None:
    left, right = axes
    rows = sorted(rows, key=lambda row: row["T"])
    T = [row["T"] for row in rows]
    kinds = {
        "printed": "4.1.1 printed", "derived": "4.1.1 derived", "best": "4.1.1, best covers",
        "gap": "the calculus, cross-entropy clipped", "measured_gap": "measured",
    }  # fmt: skip
    for i, (key, words) in enumerate(kinds.items()):
        if all(key in row for row in rows):
            values = [row[key] for row in rows]
            style.signed_log(left, T, values, label=words, **style.distinct(i))
    left.set(xlabel="T", ylabel="gap", yscale="log")
    style.legend_above(left, 2)
    look = style.distinct(list(kinds).index("gap"))
    right.plot(T, [10 ** row["log10_n"] for row in rows], label=kinds["gap"], **look)
    middle = 10 ** float(np.mean([row["log10_n"] for row in rows]))
    right.set(xlabel="T", ylabel="n at which the bound is half of the trivial one", yscale="log")
    right.set_ylim(middle / DECADES, middle * DECADES)
    style.legend_above(right, 2)

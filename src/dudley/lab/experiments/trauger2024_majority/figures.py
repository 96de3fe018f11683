"""Figures of sparse majority: three panels against T (trauger2024's figures 1–3), and bounds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dudley.lab.experiment import Finding
from dudley.lab.experiments.trauger2024_majority.experiment import FIGURES, NAMES, quantities
from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.show.figures import style

Columns = dict[str, np.ndarray]
VERSIONS = {"leaky": "as in the paper", "clean": "without the leak", "last": "last weights"}


@sketches("trauger2024-majority")
def figures(results: Results) -> list[Sketch]:
    trials = results.table("trials")
    shown = [next(f for f in results.findings if f.claim == claim) for claim in FIGURES.values()]
    drawn = [
        Sketch(
            "trends",
            "Largest of the runs at each T, as the paper plots them (solid), on a hold-out that "
            "nothing was chosen by (dashed) and of the last weights (dash-dotted); dots: all runs "
            "as in the paper; grey: the least-squares line through all of them.",
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
                "calculus' bound on the gap, and the measured gap, on a scale that is linear "
                "between −0.1 and 0.1; right: examples until the calculus' bound says something.",
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
        axis.plot(trials["T"], every, ls="", marker=".", ms=4, color="#999999")
        for i, (version, words) in enumerate(VERSIONS.items()):
            if quantity == "l1" and version == "clean":
                continue  # the same weights, so the same norms
            largest = [row[f"{version}_max"] for row in points]
            axis.plot(T, largest, label=words, **style.distinct(i))
        middle = float(np.mean(trials["T"]))
        ends = np.array([min(T), max(T)])
        line = every.mean() + test["change"] * (ends - middle) / np.ptp(trials["T"])
        axis.plot(ends, line, color=style.GREY, lw=1.0)
        low, high = test["interval"]
        text = f"change {test['change']:.3g} [{low:.3g}, {high:.3g}], margin ±{test['margin']:.3g}"
        axis.set_title(f"{name}: {finding.verdict}\n{text}", fontsize=8)
        axis.set(xlabel="T (sequence length)", ylabel=name)
    axes[-1].legend()


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
            left.plot(T, [row[key] for row in rows], label=words, **style.distinct(i))
    left.set_yscale("symlog", linthresh=0.1)
    left.axhline(0, color=style.GREY, lw=0.8)
    left.set(xlabel="T", ylabel="gap", title="bounds and the measured gap")
    left.legend()
    right.plot(T, [row["log10_n"] for row in rows], **style.distinct(0))
    right.set(xlabel="T", ylabel="log₁₀ n", title="n at which the calculus' bound says something")

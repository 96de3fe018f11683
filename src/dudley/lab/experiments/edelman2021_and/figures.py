"""Figures of sparse AND, in the layout of edelman2021's figure 2."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.lab.shared.growth import spread
from dudley.show.figures import style

FEW = 5  # curves in the left panel; the paper shows four
LAWS = {"power": ("power law", "-", style.GREY), "log": ("a + b log T", "--", "#000000")}


@sketches("edelman2021-and")
def figures(results: Results) -> list[Sketch]:
    rates, critical = (results.with_number(name) for name in ("rates", "critical"))
    errors = "with the standard errors of 50 bootstraps (thick) and 95 % intervals (thin)"
    if "design" in results.config:
        errors = "foretold from a sequential design, with 95 % intervals of the curve's own"
    drawn = [
        Sketch(
            "success",
            "Left: share of trials whose best hold-out accuracy exceeds .99, with 95 % Wilson "
            f"intervals. Right: the first m with a share above ½, {errors}; triangles: beyond the "
            "largest m. Both laws are fitted to all outcomes.",
            partial(success, rates.numbers, critical.numbers),
            (critical,),
            panels=(1, 2),
            size=(10.0, 4.9),
        ),
        Sketch(
            "cells",
            "Share of successes in every cell, by the best of all checks (left) and by the last "
            "check alone (right). The line joins the critical m.",
            partial(cells, rates.numbers, critical.numbers),
            (rates,),
            panels=(1, 2),
            size=(10.0, 4.2),
        ),
    ]
    curves = [f for f in results.findings if any(key.startswith("m=") for key in f.numbers)]
    if curves:
        drawn.append(
            Sketch(
                "curves",
                "Accuracy over training, without dropout: medians over trials, quartiles shaded.",
                partial(training, curves[0].numbers),
                (curves[0],),
                panels=(1, 2),
                size=(10.0, 3.9),
            )
        )
    return drawn + predicted(results)


def predicted(results: Results) -> list[Sketch]:
    """The sizes that are asked for, beside those that training needs."""
    certified = [f for f in results.findings if "certificates" in f.numbers]
    critical = results.with_number("critical").numbers
    return [
        Sketch(
            "sizes",
            "The m at which training finds the function in half of the trials, beside the n at "
            "which certificates of it come down to 1 % and, where there is one, the derived bound "
            "at the norms of a trained classifier to ½ (δ = .05). Where training needs more than "
            "the largest m that was tried, there is no point.",
            partial(sizes, critical["critical"], found.numbers),
            (found,),
            panels=(1, 1),
            size=(8.0, 5.2),
        )
        for found in certified
    ]


def success(rates: dict[str, Any], critical: dict[str, Any], axes: list) -> None:
    left, right = axes
    curves_by_T(left, rates["rates"])
    crossings(right, critical["critical"], critical.get("growth"))


def curves_by_T(axis, rows: list[dict[str, Any]]) -> None:
    """Success against m, one curve for each T; of many T a few, from the first to the last."""
    every = sorted({row["T"] for row in rows})
    shown = every if len(every) <= FEW else spread(every, FEW - 1)
    for i, T in enumerate(shown):
        of_length = sorted((row for row in rows if row["T"] == T), key=lambda row: row["m"])
        look = style.ordered(i, len(shown))
        m = [row["m"] for row in of_length]
        axis.plot(m, [row["rate"] for row in of_length], label=f"T = {T}", **look)
        ends = zip(*(row["interval"] for row in of_length), strict=True)
        style.band(axis, m, ends, look["color"])
    axis.axhline(0.5, color=style.GREY, lw=0.8, ls=(0, (2, 2)))
    axis.set(xlabel="m (training examples)", ylabel="share of successes", ylim=(-0.02, 1.02))
    axis.set_title("success against m")
    axis.legend(loc="upper left")


def crossings(axis, rows: list[dict[str, Any]], grown: dict[str, Any] | None) -> None:
    """The critical m against T, with both laws and the information bound."""
    met = [row for row in rows if row["critical"] is not None]
    beyond = [row for row in rows if row["critical"] is None]
    highest = [row["interval"][1] or row["largest"] for row in met]
    lowest = [row["interval"][0] or row["critical"] for row in met]
    T, m = [row["T"] for row in met], [row["critical"] for row in met]
    point = {"color": "#0072B2", "ls": ""}
    style.bars(axis, T, m, list(zip(lowest, highest, strict=True)), **point)
    error = [row["error"] or 0.0 for row in met]
    axis.errorbar(
        T, m, yerr=error, marker="o", elinewidth=2.6, label="critical m ± standard error", **point
    )
    for row in met:
        if row["interval"][1] is None:  # the interval has no end within the grid
            axis.plot(row["T"], row["largest"], color="#0072B2", marker=(3, 0, 0), ms=4)
    if beyond:
        axis.plot(
            [row["T"] for row in beyond], [row["largest"] for row in beyond], ls="", marker="^",
            color="#0072B2", mfc="white", ms=6, label="above the largest m",
        )  # fmt: skip
    for name, (words, line, colour) in LAWS.items():
        if grown is not None:
            fit = grown["plain"][name]
            points = fit["critical"]
            power = f", T^{fit['θ']:.2f}" if name == "power" else ""
            axis.plot(
                [p["T"] for p in points], [p["m"] for p in points],
                ls=line, color=colour, lw=1.2, label=words + power,
            )  # fmt: skip
    axis.plot(
        [row["T"] for row in rows], [row["information"] for row in rows],
        ls=":", marker="x", color="#D55E00", label="information bound: no learner below",
    )  # fmt: skip
    first = met[0] if met else rows[0]
    start = first["critical"] or first["largest"]
    ends = [first["T"], max(row["T"] for row in rows)]
    top = axis.get_ylim()[1]
    axis.plot(
        ends, [start * t / ends[0] for t in ends], ls="-.", lw=0.8, color=style.GREY,
        label="linear in T",
    )  # fmt: skip
    axis.set_ylim(0, 1.35 * top)
    axis.set(xlabel="T (context length)", ylabel="m (training examples)")
    axis.set_title("critical m against T")
    axis.legend(loc="upper left", ncols=2)


def sizes(critical: list[dict[str, Any]], certificates: dict[str, Any], axes: list) -> None:
    (axis,) = axes
    met = [row for row in critical if row["critical"] is not None]
    lines = {
        "derived bound ≤ ½": [
            (row["T"], 10 ** row["log10_n"]) for row in certificates.get("bounds", [])
        ],
        "norm-cover ≤ 1 %": [(row["T"], row["norm-cover"]) for row in certificates["certificates"]],
        "Occam ≤ 1 %": [(row["T"], row["occam"]) for row in certificates["certificates"]],
        "hold-out ≤ 1 %": [(row["T"], row["hold-out"]) for row in certificates["certificates"]],
        "critical m of training": [(row["T"], row["critical"]) for row in met],
        "information bound": [(row["T"], row["m"]) for row in certificates["information"]],
    }
    for i, (name, points) in enumerate(lines.items()):
        if points:
            axis.plot(*zip(*points, strict=True), label=name, **style.distinct(i))
    axis.set(xscale="log", yscale="log", xlabel="T (context length)", ylabel="examples")
    style.whole_ticks(axis, spread(sorted(row["T"] for row in certificates["information"]), 4))
    axis.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))


def cells(rates: dict[str, Any], critical: dict[str, Any], axes: list) -> None:
    kinds = (
        ("best of all checks", rates["rates"], critical["critical"]),
        ("last check", rates["rates_by_last_check"], critical["critical_by_last_check"]),
    )
    for axis, (title, rows, line) in zip(axes, kinds, strict=True):
        Ts, ms = (sorted({row[name] for row in rows}) for name in ("T", "m"))
        grid = np.full((len(ms), len(Ts)), np.nan)
        for row in rows:
            grid[ms.index(row["m"]), Ts.index(row["T"])] = row["rate"]
        image = axis.pcolormesh(
            range(len(Ts)), range(len(ms)), grid, vmin=0, vmax=1, cmap="cividis"
        )
        points = [
            (Ts.index(row["T"]), ms.index(row["critical"])) for row in line if row["critical"]
        ]
        if points:
            axis.plot(*zip(*points, strict=True), color="white", marker="o", mec="black", lw=1.5)
        axis.set_xticks(range(len(Ts)), Ts)
        step = max(1, len(ms) // 8)
        axis.set_yticks(range(0, len(ms), step), ms[::step])
        axis.grid(False)
        axis.set(xlabel="T", ylabel="m", title=title)
        axis.figure.colorbar(image, ax=axis, label="share of successes")


def training(numbers: dict[str, Any], axes: list) -> None:
    sizes = [key for key in numbers if key.startswith("m=")]
    names = {"train_accuracy": "training examples", "holdout_accuracy": "hold-out"}
    for axis, size in zip(axes, sizes, strict=True):
        by_length = numbers[size]
        for i, (name, words) in enumerate(names.items()):
            if name not in by_length:
                continue
            median = by_length[name]["median"]
            steps = numbers["every"] * np.arange(1, len(median) + 1)
            look = style.distinct(i) | {"marker": ""}
            axis.plot(steps, median, label=words, **look)
            style.band(axis, steps, by_length[name]["quartiles"], look["color"])
        axis.axhline(0.875, color=style.GREY, lw=0.8, ls=(0, (2, 2)))
        axis.annotate(
            "always answering 0", (1, 0.875), xytext=(-2, 2), textcoords="offset points",
            xycoords=("axes fraction", "data"), ha="right", fontsize=7, color=style.GREY,
        )  # fmt: skip
        axis.set(xlabel="step", ylabel="accuracy", ylim=(None, 1.01))
        axis.set_title(f"{size.replace('=', ' = ')}: {by_length['rate']:.0%} of the trials succeed")
        axis.legend(loc="center right")

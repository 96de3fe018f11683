"""Figures of sparse AND, in the layout of edelman2021's figure 2."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dudley.lab.figures.halfway_points import about_points, draw_points, halfway_points
from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.lab.shared.fast_mode import CAVEAT, in_fast_mode
from dudley.lab.shared.growth import spread
from dudley.show.figures import style

FEW = 5  # curves in the left panel; the paper shows four
APART = 0.005  # between neighbouring curves, as a share of the axis: no interval hides another
POINT = "#0072B2"
LAWS = {
    "power": ("power law", "-", style.GREY),
    "log": ("a + b log T", "--", "#000000"),
    "power of log": ("power of log T", "-.", "#009E73"),
}
FITTED = {  # the first kind of fit that there is; the verdicts on the laws test the first
    "free": "The laws are fitted to all outcomes, with a slope of its own at every T: these fits "
    "are the ones that are tested.",
    "plain": "The laws are fitted to all outcomes, with one slope for all T.",
}


@sketches("edelman2021-and")
def figures(results: Results) -> list[Sketch]:
    rates, critical = (results.with_number(name) for name in ("rates", "critical"))
    chosen = " A sequential design chose the cells of the trials." * ("design" in results.config)
    if in_fast_mode(results.config):
        chosen += f" In {CAVEAT}."
    drawn = [
        Sketch(
            "success",
            "Left: share of trials whose best hold-out accuracy exceeds .99, with 95 % Wilson "
            f"intervals. Right: {about_points(halfway_points(rates.numbers['rates']))}. "
            f"{about_laws(critical.numbers.get('growth'))}{chosen}",
            partial(success, rates.numbers, critical.numbers),
            (critical,),
            panels=(1, 2),
            size=(10.0, 5.2),
        )
    ]
    if in_fast_mode(results.config):
        return drawn
    drawn.append(
        Sketch(
            "cells",
            "Share of successes in every cell, by the best of all checks (left) and by the last "
            "check alone (right). The line joins m½, where a logistic curve through all cells of "
            "a T is ½.",
            partial(cells, rates.numbers),
            (rates,),
            panels=(1, 2),
            size=(10.0, 4.4),
        )
    )
    curves = [f for f in results.findings if any(key.startswith("m=") for key in f.numbers)]
    if curves:
        drawn.append(
            Sketch(
                "curves",
                "Accuracy over training, without dropout: medians over trials, quartiles shaded. A "
                "constant answer 0 has accuracy 7/8.",
                partial(training, curves[0].numbers),
                (curves[0],),
                panels=(1, 2),
                size=(10.0, 3.9),
            )
        )
    return drawn + predicted(results, rates.numbers["rates"])


def predicted(results: Results, rates: list[dict[str, Any]]) -> list[Sketch]:
    """The sizes that are asked for, beside those that training needs."""
    certified = [f for f in results.findings if "certificates" in f.numbers]
    return [
        Sketch(
            "sizes",
            "The m at which training finds the function in half of the trials (m½ with its 95 % "
            "interval), beside the n at which certificates of it come down to 1 % and, where there "
            "is one, the derived bound at the norms of a trained classifier to ½ (δ = .05).",
            partial(sizes, rates, finding.numbers),
            (finding,),
            panels=(1, 1),
            size=(8.0, 5.2),
        )
        for finding in certified
    ]


def success(rates: dict[str, Any], critical: dict[str, Any], axes: list) -> None:
    left, right = axes
    curves_by_T(left, rates["rates"])
    half_success(right, rates["rates"], critical["critical"], critical.get("growth"))


def curves_by_T(axis, rows: list[dict[str, Any]]) -> None:
    """Success against m, one curve for each T; of many T a few, from the first to the last."""
    every = sorted({row["T"] for row in rows})
    shown = every if len(every) <= FEW else spread(every, FEW - 1)
    reach = max(row["m"] for row in rows) - min(row["m"] for row in rows)
    for i, T in enumerate(shown):
        of_length = sorted((row for row in rows if row["T"] == T), key=lambda row: row["m"])
        shift = APART * reach * (i - (len(shown) - 1) / 2)
        m, rate = ([row[name] for row in of_length] for name in ("m", "rate"))
        look = style.ordered(i, len(shown)) | {"label": f"T = {T:,}"}
        style.bars(axis, np.add(m, shift), rate, [row["interval"] for row in of_length], **look)
    finish_success(axis)
    style.legend_above(axis, 4)


def finish_success(axis) -> None:
    axis.axhline(0.5, color=style.GREY, lw=0.8, ls=(0, (2, 2)), label="½ of the trials")
    axis.set(xlabel="m (training examples)", ylabel="share of successes", ylim=(-0.02, 1.02))


def kind_of_fit(grown: dict[str, Any] | None) -> str | None:
    """Which fits of the laws are drawn: with slopes free at every T where there are such."""
    return next((kind for kind in FITTED if kind in (grown or {})), None)


def about_laws(grown: dict[str, Any] | None) -> str:
    kind = kind_of_fit(grown)
    return FITTED[kind] if kind else ""


def half_success(
    axis, rates: list[dict[str, Any]], rows: list[dict[str, Any]], grown: dict[str, Any] | None
) -> None:
    """m½ against T, with the laws that were fitted and the information bound."""
    points = halfway_points(rates)
    draw_points(axis, points, "m½", POINT)
    kind = kind_of_fit(grown)
    for name, fit in (grown[kind] if grown and kind else {}).items():
        if "critical" not in fit:  # the comparison of the laws
            continue
        words, line, colour = LAWS.get(name, (name, "-.", "#009E73"))
        axis.plot(
            [p["T"] for p in fit["critical"]], [p["m"] for p in fit["critical"]],
            ls=line, color=colour, lw=1.2, label=words,
        )  # fmt: skip
    axis.plot(
        [row["T"] for row in rows], [row["information"] for row in rows],
        ls=":", marker="x", color="#D55E00", label="information bound: no learner below",
    )  # fmt: skip
    top = axis.get_ylim()[1]
    if points:
        ends = np.array([points[0].T, max(row["T"] for row in rows)])
        axis.plot(
            ends, points[0].m * ends / ends[0], ls=(0, (1, 3)), lw=0.9, color="#CC79A7",
            label="linear in T",
        )  # fmt: skip
    axis.set(xlabel="T (context length)", ylabel="m (training examples)", ylim=(0, 1.1 * top))
    style.legend_above(axis, 3)


def sizes(rates: list[dict[str, Any]], certificates: dict[str, Any], axes: list) -> None:
    (axis,) = axes
    rows = certificates["certificates"]
    lines = {
        "derived bound ≤ ½": [
            (row["T"], 10 ** row["log10_n"]) for row in certificates.get("bounds", [])
        ],
        "norm-cover ≤ 1 %": [(row["T"], row["norm-cover"]) for row in rows],
        "Occam ≤ 1 %": [(row["T"], row["occam"]) for row in rows],
        "hold-out ≤ 1 %": [(row["T"], row["hold-out"]) for row in rows],
        "information bound": [(row["T"], row["m"]) for row in certificates["information"]],
    }
    for i, (name, points) in enumerate(lines.items()):
        if points:
            axis.plot(*zip(*points, strict=True), label=name, **style.distinct(i))
    draw_points(axis, halfway_points(rates), "m½ of training", "#000000")
    axis.set(xscale="log", yscale="log", xlabel="T (context length)", ylabel="examples")
    style.whole_ticks(axis, spread(sorted(row["T"] for row in certificates["information"]), 4))
    style.legend_above(axis, 4)


def cells(rates: dict[str, Any], axes: list) -> None:
    kinds = {"best of all checks": "rates", "last check": "rates_by_last_check"}
    for axis, (title, name) in zip(axes, kinds.items(), strict=True):
        rows = rates[name]
        Ts, ms = (sorted({row[name] for row in rows}) for name in ("T", "m"))
        grid = np.full((len(ms), len(Ts)), np.nan)
        for row in rows:
            grid[ms.index(row["m"]), Ts.index(row["T"])] = row["rate"]
        image = axis.pcolormesh(
            range(len(Ts)), range(len(ms)), grid, vmin=0, vmax=1, cmap="cividis"
        )
        points = [point for point in halfway_points(rows) if not point.beyond]
        places = np.interp([point.m for point in points], ms, range(len(ms)))
        line = {"color": "white", "marker": "o", "mec": "black", "lw": 1.5}
        axis.plot([Ts.index(point.T) for point in points], places, label="m½", **line)
        axis.set_xticks(range(len(Ts)), Ts)
        step = max(1, len(ms) // 8)
        axis.set_yticks(range(0, len(ms), step), ms[::step])
        axis.grid(False)
        axis.set(xlabel="T", ylabel="m")
        style.setting(axis, title)
        axis.figure.colorbar(image, ax=axis, label="share of successes")
    style.common_legend(axes, frameon=True, facecolor="#bbbbbb")


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
        axis.axhline(0.875, color=style.GREY, lw=0.8, ls=(0, (2, 2)), label="always answering 0")
        axis.set(xlabel="step", ylabel="accuracy", ylim=(None, 1.01))
        heading = size.replace("=", " = ")
        style.setting(axis, heading)
        axis.set_title(f"{heading}: {by_length['rate']:.0%} of the trials succeed")
    style.common_legend(axes)

"""Figures of excess risk against n: measured, printed, derived, on one pair of axes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dudley.lab.experiment import Finding
from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.show.figures import style
from dudley.show.figures.figure import LINES

Columns = dict[str, np.ndarray]
FORM_COLOURS = {"printed": "#D55E00", "derived": "#0072B2", "best": "#009E73"}
ACROSS = 3
HOW = (
    "Bounds: printed dashed, derived solid, best dotted, the smallest of the statements that "
    "apply; printed constants that the paper leaves unnamed are 1."
)


@sketches("li2026-excess")
def figures(results: Results) -> list[Sketch]:
    classes, heads, bounds = (results.table(name) for name in ("classes", "heads", "bounds"))
    problems = list(dict.fromkeys(classes["problem"].tolist()))
    drawn = [
        Sketch(
            "classes",
            "Excess risk of a minimiser, known exactly (black), and from drawn samples (circles "
            f"with two standard errors). {HOW}",
            partial(exact, classes, bounds, problems),
            tuple(f for f in results.findings if "problem" in f.numbers)[:3],
            panels=shape(len(problems)),
            size=size(len(problems)),
        )
    ]
    for kind in dict.fromkeys(heads["kind"].tolist()):
        of_kind = where(heads, kind=kind)
        settings = list(
            dict.fromkeys(zip(of_kind["law"].tolist(), of_kind["noise"].tolist(), strict=True))
        )
        drawn.append(
            Sketch(
                f"heads-{kind}",
                f"Attention heads taught by a head, {kind}: mean excess risk over trials with 95 % "
                f"intervals, by loss and truncation. {HOW}",
                partial(trained, of_kind, bounds, settings),
                part(results.findings, [kind]),
                panels=shape(len(settings)),
                size=size(len(settings)),
            )
        )
    return drawn


def part(findings: list[Finding], words: list[str], most: int = 3) -> tuple[Finding, ...]:
    """The findings whose claim names one of these words, or the first one."""
    matching = [f for f in findings if any(word in f.claim.lower() for word in words)]
    return tuple((matching or findings[:1])[:most])


def shape(count: int) -> tuple[int, int]:
    return -(-count // ACROSS), min(ACROSS, count)


def size(count: int) -> tuple[float, float]:
    rows, columns = shape(count)
    return max(6.4, 3.5 * columns), 3.1 * rows + 1.4


def where(columns: Columns, **values: Any) -> Columns:
    keep = np.all([columns[name] == value for name, value in values.items()], axis=0)
    return {name: column[keep] for name, column in columns.items()}


def exact(classes: Columns, bounds: Columns, problems: list[str], axes: list) -> None:
    for axis, name in zip(axes, problems, strict=False):
        points = where(classes, problem=name)
        axis.plot(points["n"], points["exact"], color="black", lw=1.8, label="exact")
        drawn = np.isfinite(points["mean"]) & (points["mean"] > 0)
        axis.errorbar(
            points["n"][drawn], points["mean"][drawn], yerr=2 * points["error"][drawn], ls="",
            marker="o", mfc="white", color="black", capsize=2, label="drawn",
        )  # fmt: skip
        bounding(axis, where(bounds, name=name))
        finish(axis, name, float(points["exact"][points["exact"] > 0].min(initial=1.0)))
    ended(axes, len(problems))


def trained(heads: Columns, bounds: Columns, settings: list, axes: list) -> None:
    for axis, (law, noise) in zip(axes, settings, strict=False):
        of_setting = where(heads, law=law, noise=noise)
        arms, lowest = list(dict.fromkeys(of_setting["arm"].tolist())), 1.0
        for i, arm in enumerate(arms):
            of_arm = where(of_setting, arm=arm)
            n = np.unique(of_arm["n"])
            groups = [of_arm["excess"][of_arm["n"] == k] for k in n]
            mean = np.array([group.mean() for group in groups])
            error = np.array([1.96 * g.std(ddof=1) / np.sqrt(len(g)) for g in groups])
            label = f"{of_arm['loss'][0]}, {cut(str(of_arm['truncation'][0]))}"
            ends = list(zip(np.maximum(mean - error, mean / 100), mean + error, strict=True))
            style.bars(axis, n, mean, ends, label=label, **style.distinct(i + 3))
            lowest = min(lowest, float(mean[mean > 0].min(initial=1.0)))
        there = np.isin(bounds["name"], arms)
        bounding(axis, {name: column[there] for name, column in bounds.items()})
        finish(axis, f"{law}, {'noisy' if noise else 'no added noise'}", lowest)
    ended(axes, len(settings))


def cut(truncation: str) -> str:
    return "whole" if truncation in ("whole", "None") else f"cut at {truncation}"


def bounding(axis, bounds: Columns) -> None:
    """The smallest value of each form at every n, over the statements."""
    for form, colour in FORM_COLOURS.items():
        of_form = where(bounds, form=form)
        n = np.unique(of_form["n"])
        if not len(n):
            continue
        least = [of_form["value"][of_form["n"] == k].min() for k in n]
        points = [(k, v) for k, v in zip(n, least, strict=True) if v > 0 and np.isfinite(v)]
        if points:
            line, width = LINES[form]
            label = f"{form} bound"
            axis.plot(*zip(*points, strict=True), color=colour, ls=line, lw=width, label=label)


def finish(axis, title: str, lowest: float) -> None:
    axis.set(xscale="log", yscale="log", xlabel="n", ylabel="excess risk", title=title)
    axis.set_ylim(bottom=max(lowest / 3, 1e-8))
    style.narrow_log(axis)
    if len(axis.get_legend_handles_labels()[1]) > 6:
        axis.set_ylim(top=1e3 * axis.get_ylim()[1])  # room for the legend
    axis.legend(fontsize=6, frameon=True, framealpha=0.85, edgecolor="none")


def ended(axes: list, count: int) -> None:
    for axis in axes[count:]:
        axis.axis("off")

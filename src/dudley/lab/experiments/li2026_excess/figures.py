"""Figures of excess risk against n: measured, printed, derived, on one pair of axes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dudley.lab.experiment import Finding
from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.show.figures import style
from dudley.show.figures.figure import COLOURS, LINES

Columns = dict[str, np.ndarray]
ACROSS = 3
FORM_MARKERS = {"printed": "v", "derived": "s", "best": "x"}
WAY_COLOURS = (*COLOURS[:-1], "#8C510A")  # black is the bounds'
LOWEST, TOP = 1e-8, 3.0  # of an excess risk that is shown; above the largest number drawn
HOW = (
    "Bounds: printed dashed, derived solid, best dotted; printed constants that the paper leaves "
    "unnamed are 1."
)


@sketches("li2026-excess")
def figures(results: Results) -> list[Sketch]:
    classes, heads, bounds = (results.table(name) for name in ("classes", "heads", "bounds"))
    problems = list(dict.fromkeys(classes["problem"].tolist()))
    drawn = [
        Sketch(
            "classes",
            "Excess risk of a minimiser, known exactly (black), and from drawn samples (circles "
            "with two standard errors). A colour for each statement, drawn where it was "
            f"evaluated.{not_beyond(classes, bounds)} {HOW}",
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
                "intervals, by loss and truncation; beside it the smallest of the statements that "
                f"apply. {HOW}",
                partial(trained, of_kind, bounds, settings),
                part(results.findings, [kind]),
                panels=shape(len(settings)),
                size=size(len(settings)),
            )
        )
    return drawn


def not_beyond(classes: Columns, bounds: Columns) -> str:
    """Which statements end before the largest n of a panel, and where; nothing if none does."""
    ends: dict[tuple[str, int], list[str]] = {}
    for problem in dict.fromkeys(classes["problem"].tolist()):
        last = where(classes, problem=problem)["n"].max()
        of_problem = where(bounds, name=problem)
        for statement in sorted(set(of_problem["statement"].tolist())):
            end = where(of_problem, statement=statement)["n"].max()
            if end < last:
                ends.setdefault((statement, int(end)), []).append(problem)
    return "".join(
        f" {label_of(statement)} was not evaluated beyond n = {end:,} ({', '.join(problems)})."
        for (statement, end), problems in ends.items()
    )


def label_of(statement: str) -> str:
    """As readers call it.

    >>> label_of("li2026/theorem-4.4")
    'Theorem 4.4'
    """
    return statement.removeprefix("li2026/").replace("-", " ").capitalize()


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
    statements = sorted(set(bounds["statement"][np.isin(bounds["name"], problems)].tolist()))
    for axis, name in zip(axes, problems, strict=False):
        points = where(classes, problem=name)
        axis.plot(points["n"], points["exact"], color="black", lw=1.8, label="exact")
        drawn = np.isfinite(points["mean"]) & (points["mean"] > 0)
        axis.errorbar(
            points["n"][drawn], points["mean"][drawn], yerr=2 * points["error"][drawn], ls="",
            marker="o", mfc="white", color="black", capsize=2, label="drawn samples",
        )  # fmt: skip
        for statement in statements:
            colour = COLOURS[statements.index(statement)]
            of_statement = where(bounds, name=name, statement=statement)
            bounding(axis, of_statement, label_of(statement), colour)
        lowest = float(points["exact"][points["exact"] > 0].min(initial=1.0))
        finish(axis, name, lowest)
    ended(axes, len(problems))


def trained(heads: Columns, bounds: Columns, settings: list, axes: list) -> None:
    labels = {
        arm: f"{loss}, {cut(str(truncation))}"
        for arm, loss, truncation in zip(
            *(heads[name].tolist() for name in ("arm", "loss", "truncation")), strict=True
        )
    }
    ways = list(dict.fromkeys(labels.values()))  # one look for a way to learn, in all panels
    for axis, (law, noise) in zip(axes, settings, strict=False):
        of_setting = where(heads, law=law, noise=noise)
        arms, lowest = list(dict.fromkeys(of_setting["arm"].tolist())), 1.0
        for arm in arms:
            of_arm = where(of_setting, arm=arm)
            n = np.unique(of_arm["n"])
            groups = [of_arm["excess"][of_arm["n"] == k] for k in n]
            mean = np.array([group.mean() for group in groups])
            error = np.array([1.96 * g.std(ddof=1) / np.sqrt(len(g)) for g in groups])
            ends = list(zip(np.maximum(mean - error, mean / 100), mean + error, strict=True))
            at = n * 1.03 ** (arms.index(arm) - (len(arms) - 1) / 2)
            index = ways.index(labels[arm])
            look = style.distinct(index) | {"color": WAY_COLOURS[index % len(WAY_COLOURS)]}
            look["mfc"] = look["color"]
            style.bars(axis, at, mean, ends, label=labels[arm], **look)
            lowest = min(lowest, float(mean[mean > 0].min(initial=1.0)))
        there = np.isin(bounds["name"], arms)
        of_arms = {name: column[there] for name, column in bounds.items()}
        bounding(axis, smallest(of_arms), "bound", "black")
        finish(axis, f"{law}, {'noisy' if noise else 'no added noise'}", lowest)
    ended(axes, len(settings))


def cut(truncation: str) -> str:
    return "whole" if truncation in ("whole", "None") else f"cut at {truncation}"


def smallest(bounds: Columns) -> Columns:
    """The smallest value of each form at every n, over statements that have a value at every n.

    Where one ended early, the smallest of the others would jump.
    """
    every = np.unique(bounds["n"])
    rows: list[tuple[str, int, float]] = []
    for form in FORM_MARKERS:
        of_form = where(bounds, form=form)
        whole = [
            where(of_form, name=name, statement=statement)
            for name, statement in dict.fromkeys(
                zip(of_form["name"].tolist(), of_form["statement"].tolist(), strict=True)
            )
        ]
        whole = [series for series in whole if np.array_equal(np.unique(series["n"]), every)]
        for n in every if whole else ():
            least = min(float(series["value"][series["n"] == n].min()) for series in whole)
            rows.append((form, int(n), least))
    names = ("form", "n", "value")
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}


def bounding(axis, bounds: Columns, label: str, colour: str) -> None:
    """The forms of one statement: a line style and a marker for each form."""
    for form, marker in FORM_MARKERS.items():
        of_form = where(bounds, form=form)
        order = np.argsort(of_form["n"])
        n, value = of_form["n"][order], of_form["value"][order]
        finite = np.isfinite(value)
        if finite.any():
            line, width = LINES[form]
            look = {"color": colour, "ls": line, "lw": width, "marker": marker, "ms": 3}
            style.signed_log(axis, n[finite], value[finite], label=f"{label}, {form}", **look)


def finish(axis, title: str, lowest: float) -> None:
    axis.set(xscale="log", yscale="log", xlabel="n", ylabel="excess risk")
    style.setting(axis, title)
    low = max(lowest / 3, LOWEST)
    axis.set_ylim(low, max(TOP * axis.dataLim.intervaly[1], 10 * low))
    style.narrow_log(axis)


def ended(axes: list, count: int) -> None:
    for axis in axes[count:]:
        axis.axis("off")
    style.common_legend(axes[:count], 5)

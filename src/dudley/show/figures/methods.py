"""Methods side by side as one figure: certificate against the number of examples, a panel a task.

A task of which only one size was tried has no panel. A line joins the medians of a method, dots are
single seeds. Pale is what is a hold-out in effect. Grey is where guessing does as well; the black
dashes are the error on fresh examples of ordinary training (the model of the hold-out).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from dudley.certificates.side_by_side import METHOD_TITLES, MethodsRecord, TaskFacts, spread
from dudley.show.figures import style
from dudley.show.figures.drawing import Drawing, render

SHADE, PALE = "#eeeeee", 0.4
COLUMNS = 3


def draw(record: MethodsRecord, paths: list[Path]) -> None:
    """Write the figure, SVG or PNG."""
    render(drawing(record), paths)


def drawing(record: MethodsRecord) -> Drawing:
    """The figure before it is drawn."""
    rows = -(-len(_curved(record)) // COLUMNS)
    return Drawing(
        name="methods",
        shows=(
            "Upper bounds on the error of trained models, each with probability "
            f"{1 - record.delta:g}, against all labelled examples that were used, by training and "
            "by certificate together. Lines join medians over seeds. PAC-Bayes is about weights "
            "that are drawn at random, one pass about its models, not the last one. Pale: the "
            "model stayed where a share had left it, in effect a hold-out of the rest. Dashes: the "
            "error of ordinary training on fresh examples, where it is not 0."
        ),
        paint=partial(_paint, record=record),
        panels=(rows, COLUMNS),
        size=(11.0, 0.9 + 2.75 * rows),
    )


def _paint(axes: list[Any], record: MethodsRecord) -> None:
    tasks = _curved(record)
    for axis, task in zip(axes, tasks, strict=False):
        _panel(axis, record, task)
    for axis in axes[len(tasks) :]:
        axis.set_axis_off()
    style.common_legend(axes[: len(tasks)], 3, tuple(METHOD_TITLES.values()))


def _curved(record: MethodsRecord) -> list[TaskFacts]:
    return [task for task in record.tasks if len(record.sizes(task.name)) > 1]


def _panel(axis, record: MethodsRecord, task: TaskFacts) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    for i, (method, title) in enumerate(METHOD_TITLES.items()):
        rows = record.of(task.name, method)
        if not rows:
            continue
        sizes = sorted({row.n for row in rows})
        look = style.distinct(i)
        look["alpha"] = PALE if all(row.still for row in rows) else 1.0
        single = {"marker": look["marker"], "color": look["color"], "mfc": look["color"], "ms": 2}
        x, y = [row.n for row in rows], [row.value for row in rows]
        axis.plot(x, y, ls="", zorder=2, alpha=0.5 * look["alpha"], **single)
        medians = [spread(record.of(task.name, method, n))[1] for n in sizes]
        axis.plot(sizes, medians, label=title, zorder=3, **look)
    _tests(axis, record, task)
    rows = [row for row in record.rows if row.task == task.name]
    least = min(x for row in rows for x in (row.value, row.test_error) if x)
    axis.set_ylim(least / 1.6, min(1.0, 2.2 * task.guessing))
    axis.axhspan(task.guessing, 1.0, color=SHADE, lw=0, zorder=0)
    sizes = record.sizes(task.name)
    style.whole_ticks(axis, sizes)
    axis.set_xticks(sizes, [f"{n:,}" for n in sizes])
    style.plain_log(axis)
    axis.set_title(f"{task.title}: {task.model}")
    axis.set_xlabel("labelled examples")
    axis.set_ylabel("certified error")


def _tests(axis, record: MethodsRecord, task: TaskFacts) -> None:
    rows = [row for row in record.of(task.name, "hold-out") if row.test_error]
    sizes = sorted({row.n for row in rows})
    means = [_mean([row.test_error or 0.0 for row in rows if row.n == n]) for n in sizes]
    if sizes:
        axis.plot(sizes, means, color="black", ls=(0, (4, 2)), lw=1.0, zorder=1)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)

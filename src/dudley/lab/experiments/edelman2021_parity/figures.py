"""Figures of sparse parity: loss curves (edelman2021's figure 3), and the waiting times."""

from __future__ import annotations

from functools import partial
from math import log
from typing import Any

import numpy as np

from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.lab.statistics.proportions import clopper_pearson
from dudley.show.figures import style

Columns = dict[str, np.ndarray]
ACROSS = 4


@sketches("edelman2021-parity")
def figures(results: Results) -> list[Sketch]:
    drops = results.with_number("drops")
    last = [f for f in results.findings if "lengths" in f.numbers][-1]
    drawn = []
    for part in ("printed", "scan"):
        table = results.table(part)
        count = len(np.unique(table["T"]))
        rows, columns = -(-count // ACROSS), min(ACROSS, count)
        every = results.config[part]["training"]["evaluate_every"]
        drawn.append(
            Sketch(
                "losses" if part == "printed" else f"losses-{part}",
                f"Loss of a fresh batch at every {every}th step, one line for each seed; dashed: "
                "log 2, the loss of guessing.",
                partial(losses, table, every),
                (drops,) if part == "printed" else (last,),
                panels=(rows, columns),
                size=(max(6.4, 3.2 * columns), 2.9 * rows + 1.1),
            )
        )
    rows = last.numbers["lengths"]
    lines = -(-(len(rows) + 1) // ACROSS)
    drawn.append(
        Sketch(
            "waiting",
            "Share of seeds whose loss has not dropped yet (Kaplan and Meier, 95 % intervals "
            "shaded), a panel for each T. Last panel: share of seeds that learnt within so many "
            "steps, with 95 % intervals." + reached(rows),
            partial(waiting, rows),
            (last,),
            panels=(lines, ACROSS),
            size=(3.0 * ACROSS, 2.7 * lines + 1.4),
        )
    )
    return drawn


def reached(rows: list[dict[str, Any]]) -> str:
    """The last steps, where they differ."""
    ends = sorted({row["steps"] for row in rows})
    if len(ends) == 1:
        return ""
    text = (
        f"{end:,} at T = {', '.join(str(row['T']) for row in rows if row['steps'] == end)}"
        for end in ends
    )
    return f" The last step is {'; '.join(text)}."


def losses(table: Columns, every: int, axes: list) -> None:
    lengths = np.unique(table["T"])
    style.common_heights(axes[: len(lengths)])
    for axis, T in zip(axes, lengths, strict=False):
        curves_of_length = [np.asarray(curve, float) for curve in table["loss"][table["T"] == T]]
        for i, curve in enumerate(curves_of_length):
            look = style.ordered(i, len(curves_of_length))
            look = {"color": look["color"], "ls": look["ls"], "lw": 0.9}
            label = "a seed" if i == 0 else None
            axis.plot(every * np.arange(1, len(curve) + 1), curve, label=label, **look)
        axis.axhline(log(2), color=style.GREY, lw=0.8, ls=(0, (2, 2)), label="log 2, guessing")
        axis.set(xlabel="step", ylabel="loss")
        style.setting(axis, f"T = {T}")
        axis.locator_params(axis="x", nbins=5)  # numbers of five digits side by side
    axes[0].set_ylim(-0.02, None)
    for axis in axes[len(lengths) :]:
        axis.axis("off")
    style.common_legend(axes[: len(lengths)])


def waiting(rows: list[dict[str, Any]], axes: list) -> None:
    """A panel for each T, since intervals of ten seeds cover each other; then the shares."""
    budgets = sorted({row["steps"] for row in rows})
    first = 0.7 * min(time for row in rows for time in row["times"] or budgets)
    for i, (axis, row) in enumerate(zip(axes, rows, strict=False)):
        still_waiting(axis, row, style.ordered(i, len(rows)))
        axis.set(xlabel="step", ylim=(-0.02, 1.05), xscale="log", xlim=(first, 1.1 * budgets[-1]))
        style.unnamed_minor_ticks(axis)
        style.setting(axis, f"T = {row['T']}")
    for axis in axes[::ACROSS]:
        axis.set_ylabel("share of seeds still waiting")
    shares(axes[len(rows)], rows, budgets)
    for axis in axes[len(rows) + 1 :]:
        axis.axis("off")


def still_waiting(axis, row: dict[str, Any], look: dict[str, Any]) -> None:
    x = [0.0, *row["times"], row["steps"]]
    y = [1.0, *row["waiting"], (row["waiting"] or [1.0])[-1]]
    axis.step(x, y, where="post", color=look["color"])
    marker = {name: look[name] for name in ("color", "marker", "mfc")}
    axis.plot(x[1:-1], y[1:-1], ls="", **marker)
    if row["times"]:
        low, high = ([*ends, ends[-1]] for ends in row["waiting_interval"])
        style.band(axis, x[1:], (low, high), look["color"], step="post")


def learnt_within(budget: int, row: dict[str, Any]) -> int:
    """How many seeds learnt within so many steps; all of them were watched that long.

    >>> learnt_within(50, {"seeds": 4, "times": [20.0, 40.0, 80.0], "waiting": [0.75, 0.25, 0.0]})
    3
    """
    waiting = [1.0, *(w for t, w in zip(row["times"], row["waiting"], strict=True) if t <= budget)]
    return round(row["seeds"] * (1 - waiting[-1]))


def shares(axis, rows: list[dict[str, Any]], budgets: list[int]) -> None:
    """The share of seeds that learnt, a marker for each number of steps.

    Each T counts within every budget that its trainings reach.
    """
    for i, budget in enumerate(budgets):
        reaching = [(index, row) for index, row in enumerate(rows) if row["steps"] >= budget]
        learnt = [learnt_within(budget, row) for _, row in reaching]
        seeds = [row["seeds"] for _, row in reaching]
        intervals = list(zip(*clopper_pearson(learnt, seeds), strict=True))
        at = [index + 0.2 * (i - (len(budgets) - 1) / 2) for index, _ in reaching]
        share = [k / n for k, n in zip(learnt, seeds, strict=True)]
        look = style.distinct(i) | {"ls": ""}
        style.bars(axis, at, share, intervals, label=f"within {budget:,} steps", **look)
    axis.set_xticks(range(len(rows)), [str(row["T"]) for row in rows])
    axis.set(xlabel="T", ylabel="share of seeds that learnt", ylim=(-0.02, 1.05))
    axis.set_xlim(-0.5, len(rows) - 0.5)
    style.legend_above(axis, 1)

"""Figures of sparse parity: loss curves (edelman2021's figure 3), and the waiting times."""

from __future__ import annotations

from functools import partial
from math import log
from typing import Any

import numpy as np

from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
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
    drawn.append(
        Sketch(
            "waiting",
            "Left: share of seeds whose loss has not dropped yet (Kaplan and Meier, 95 % intervals "
            "shaded). Right: share of seeds that learnt by the last step, with 95 % intervals."
            + reached(last.numbers["lengths"]),
            partial(waiting, last.numbers["lengths"]),
            (last,),
            panels=(1, 2),
            size=(10.0, 4.6),
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
    for axis, T in zip(axes, lengths, strict=False):
        curves_of_length = [np.asarray(curve, float) for curve in table["loss"][table["T"] == T]]
        for i, curve in enumerate(curves_of_length):
            look = style.ordered(i, len(curves_of_length))
            look = {"color": look["color"], "ls": look["ls"], "lw": 0.9}
            axis.plot(every * np.arange(1, len(curve) + 1), curve, **look)
        axis.axhline(log(2), color=style.GREY, lw=0.8, ls=(0, (2, 2)))
        axis.set(xlabel="step", ylabel="loss", title=f"T = {T}", ylim=(-0.02, None))
        axis.locator_params(axis="x", nbins=5)  # numbers of five digits side by side
    for axis in axes[len(lengths) :]:
        axis.axis("off")


def waiting(rows: list[dict[str, Any]], axes: list) -> None:
    left, right = axes
    ends = {row["steps"] for row in rows}
    for i, row in enumerate(rows):
        look = style.ordered(i, len(rows))
        x = [0.0, *row["times"], row["steps"]]
        y = [1.0, *row["waiting"], (row["waiting"] or [1.0])[-1]]
        plain = {name: look[name] for name in ("color", "ls")}
        left.step(x, y, where="post", label=f"T = {row['T']}", **plain)
        left.plot(x[1:-1], y[1:-1], ls="", **{n: look[n] for n in ("color", "marker", "mfc")})
        if row["times"]:
            low, high = ([*ends, ends[-1]] for ends in row["waiting_interval"])
            left.fill_between(x[1:], low, high, step="post", color=look["color"], alpha=0.12, lw=0)
    left.set(xlabel="step", ylabel="share of seeds still waiting", ylim=(-0.02, 1.05))
    left.set_title("time to the drop")
    if len(ends) > 1:  # the shorter trainings would be a margin of the longest
        left.set_xscale("log")
        left.set_xlim(left=0.7 * min(time for row in rows for time in row["times"] or ends))
    left.legend()
    places = range(len(rows))
    style.bars(
        right, places, [row["share"] for row in rows], [row["interval"] for row in rows],
        color="#0072B2", marker="o", ls="",
    )  # fmt: skip
    for place, row in zip(places, rows, strict=True):
        right.annotate(
            f"{row['learnt']}/{row['seeds']}", (place, row["share"]), xytext=(6, 0),
            textcoords="offset points", va="center", fontsize=7,
        )  # fmt: skip
    right.set_xticks(list(places), [str(row["T"]) for row in rows])
    right.set(xlabel="T", ylabel="share of seeds that learnt", ylim=(-0.02, 1.05))
    right.set_xlim(-0.5, len(rows) - 0.5)
    right.set_title("learnt within " + " or ".join(f"{end:,}" for end in sorted(ends)) + " steps")

"""Figures of MNIST 0/1: test losses, Table 1 beside ours, distances from the start, Theorem 5."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dudley.lab.experiment import Finding
from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.show.figures import style

Columns = dict[str, np.ndarray]
LAST = ("1", "2", "3", "4")  # markers of the last epoch, other than those of the lowest loss
REPAIRED = ("derived", "best covers")  # cut at 1, where a bound is trivial
BLOCKS = {"Q": "W_Q", "K": "W_K", "V": "W_V", "O": "w_O"}


@sketches("mwigo2026-mnist")
def figures(results: Results) -> list[Sketch]:
    curves = results.table("curves")
    table = results.with_number("share_inside")
    drawn = []
    for reading in dict.fromkeys(curves["reading"].tolist()):
        of_reading = where(curves, reading=reading)
        rows, columns = (len(np.unique(of_reading[name])) for name in ("tokens", "d_m"))
        drawn.append(
            Sketch(
                f"losses-{reading}",
                f"Reading “{reading}”: loss on the test images (lines with quartiles shaded, "
                "medians over trials) and on the training images (thin, dotted) over training.",
                partial(losses, of_reading),
                findings_on(results, reading),
                panels=(rows, columns),
                size=(3.3 * max(2, columns), 2.5 * rows + 0.9),
            )
        )
    others = [f for f in results.findings if "reading" in f.numbers and has_theirs(f)]
    for block in (table, *others):
        cells, reading = block.numbers["cells"], block.numbers.get("reading", "printed")
        drawn.append(
            Sketch(
                "table-1" if block is table else f"table-1-{reading}",
                f"Lowest test loss against N, reading “{reading}”: ours with the range in which a "
                "new run would fall, after the last epoch (to the right), and the paper's (stars, "
                "to the left). The lowest is selected on the test images, as in the paper.",
                partial(beside, cells),
                (block,),
                panels=(1, len({row["tokens"] for row in cells})),
                size=(10.0, 4.2),
            )
        )
    moved = results.with_number("log_distance_on_log_d_m")
    drawn.append(
        Sketch(
            "distance",
            "Distance of all weights from their initial values over training, and of the output "
            "weights w_O alone (thin, dotted); reading “printed”, largest N: medians over trials.",
            partial(distance, where(curves, reading="printed")),
            (moved,),
            panels=(1, len(np.unique(curves["tokens"]))),
            size=(10.0, 4.0),
        )
    )
    bounds = [f for f in results.findings if "loss" in f.numbers and "cells" in f.numbers]
    drawn += [
        Sketch(
            "theorem-5",
            "Theorem 5 in each cell, for the loss min(|f − y|, 1): as printed with constant 1 (a "
            "triangle at the lower edge where it is negative), derived, by the best covers, and an "
            "upper bound on what was measured. A repaired bound of 1 or more says nothing: the "
            "legend counts these cells, and they have no marker.",
            partial(theorem, block.numbers["cells"]),
            (block,),
            panels=(1, 1),
            size=(10.0, 4.6),
        )
        for block in bounds[:1]
    ]
    return drawn


def findings_on(results: Results, reading: str) -> tuple:
    """The finding on a reading; of the printed one, whether the loss falls with N."""
    of_reading = [f for f in results.findings if f.numbers.get("reading") == reading]
    return tuple(of_reading[:1]) or (results.with_number("steps"),)


def has_theirs(finding: Finding) -> bool:
    """Are there cells of the paper's table to be set beside?"""
    return any("their_lowest" in cell for cell in finding.numbers["cells"])


def where(columns: Columns, **values: Any) -> Columns:
    keep = np.all([columns[name] == value for name, value in values.items()], axis=0)
    return {name: column[keep] for name, column in columns.items()}


def stacked(curves: Columns, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Epochs, and the curves of all trials as a matrix."""
    return curves["epoch"][0], np.stack([np.asarray(c, float) for c in curves[name]])


def losses(curves: Columns, axes: list) -> None:
    cells = [(t, d) for t in np.unique(curves["tokens"]) for d in np.unique(curves["d_m"])]
    every = np.unique(curves["N"])
    style.common_heights(axes)
    for axis, (tokens, d_m) in zip(axes, cells, strict=True):
        for i, N in enumerate(every):
            of_size = where(curves, tokens=tokens, d_m=d_m, N=N)
            if not len(of_size["N"]):
                continue
            epochs, test = stacked(of_size, "test")
            look = style.ordered(i, len(every)) | {"markevery": max(1, len(epochs) // 6)}
            axis.plot(epochs, np.median(test, 0), label=f"N = {N:,}, test images", **look)
            style.band(axis, epochs, np.quantile(test, [0.25, 0.75], axis=0), look["color"])
            train = np.median(stacked(of_size, "train")[1], 0)
            label = f"N = {N:,}, training images"
            axis.plot(epochs, train, color=look["color"], lw=0.8, ls=":", label=label)
        style.wide_log(axis)
        axis.set(xlabel="epoch", ylabel="loss")
        style.setting(axis, f"d_m = {d_m}, {tokens}")
    style.common_legend(axes, len(every))


def beside(cells: list[dict[str, Any]], axes: list) -> None:
    kinds, widths = (sorted({row[name] for row in cells}) for name in ("tokens", "d_m"))
    style.common_heights(axes)
    for axis, tokens in zip(axes, kinds, strict=True):
        for i, d_m in enumerate(widths):
            lines = sorted(
                (row for row in cells if (row["tokens"], row["d_m"]) == (tokens, d_m)),
                key=lambda row: row["N"],
            )
            shift = 1.16 ** (i - (len(widths) - 1) / 2)
            N = np.array([row["N"] for row in lines]) * shift
            look = style.ordered(i, len(widths)) | {"lw": 0.9}
            filled = look | {"mfc": look["color"], "label": f"d_m = {d_m}, lowest"}
            lowest = [row["lowest"] for row in lines]
            style.bars(axis, N, lowest, [row["new_run"] for row in lines], **filled)
            last = look | {"ls": "", "mfc": "white", "marker": LAST[i % len(LAST)], "ms": 8}
            values = [row["last"] for row in lines]
            axis.plot(N * 1.05, values, label=f"d_m = {d_m}, last epoch", **last)
            theirs = [(n / 1.05, row["their_lowest"]) for n, row in zip(N, lines, strict=True)
                      if "their_lowest" in row]  # fmt: skip
            if theirs:
                star = {"ls": "", "marker": "*", "ms": 9, "mec": "black", "mew": 0.4}
                label = f"d_m = {d_m}, the paper's"
                axis.plot(*zip(*theirs, strict=True), color=look["color"], label=label, **star)
        axis.set(xscale="log", xlabel="N", ylabel="test loss")
        style.setting(axis, tokens)
        style.wide_log(axis)
        style.whole_ticks(axis, sorted({row["N"] for row in cells}))
    kinds_of_mark = ("lowest", "last epoch", "the paper's")
    order = [f"d_m = {d_m}, {kind}" for d_m in widths for kind in kinds_of_mark]
    style.common_legend(axes, len(widths), order)


def distance(curves: Columns, axes: list) -> None:
    widths, largest = np.unique(curves["d_m"]), curves["N"].max()
    style.common_heights(axes)
    for axis, tokens in zip(axes, np.unique(curves["tokens"]), strict=True):
        for i, d_m in enumerate(widths):
            largest_curves = where(curves, tokens=tokens, d_m=d_m, N=largest)
            if not len(largest_curves["N"]):
                continue
            parts = [stacked(largest_curves, f"moved_{block}") for block in BLOCKS]
            epochs = parts[0][0]
            total = np.median(np.sqrt(sum(values**2 for _, values in parts)), 0)
            look = style.ordered(i, len(widths)) | {"markevery": max(1, len(epochs) // 6)}
            axis.plot(epochs, total, label=f"d_m = {d_m}, all weights", **look)
            output = np.median(parts[-1][1], 0)
            label = f"d_m = {d_m}, w_O alone"
            axis.plot(epochs, output, color=look["color"], lw=0.8, ls=":", label=label)
        axis.set(xlabel="epoch", ylabel="distance")
        style.setting(axis, f"{tokens}, N = {largest:,}")
    style.common_legend(axes, 2 * len(widths))


def theorem(cells: list[dict[str, Any]], axes: list) -> None:
    (axis,) = axes
    x = np.arange(len(cells))
    forms = {
        "printed": [row["printed"][0] for row in cells],
        "derived": [row["derived"] for row in cells],
        "best covers": [row["best"] for row in cells],
        "measured, at most": [row["measured_at_most"][1] for row in cells],
        "complexity alone, best covers": [row["best_terms"]["complexity"] for row in cells],
    }
    trivial = []
    for i, (name, values) in enumerate(forms.items()):
        telling = np.full(len(cells), True)
        if name in REPAIRED:
            telling = np.array(values) < 1
            count = int((~telling).sum())
            trivial += [f"{name} in {count} of {len(cells)} cells"] if count else []
        look = style.distinct(i) | {"ls": "", "label": name}
        at = x + 0.12 * (i - 2)
        style.signed_log(axis, at[telling], np.array(values)[telling], **look)
    axis.set_yscale("log")
    label = f"trivial: {', '.join(trivial)}" if trivial else "trivial"
    axis.axhline(1, color=style.GREY, lw=0.8, ls=(0, (2, 2)), label=label)
    names = [f"{row['tokens']}\n{row['d_m']}\n{row['N']}" for row in cells]
    axis.set_xticks(x, names, fontsize=6.5)
    axis.set(xlabel="tokens, d_m, N", ylabel="bound on the loss")
    style.legend_above(axis, 6)

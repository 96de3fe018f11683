"""What can be wrong with a drawn figure, measured in pixels: each check gives complaints.

`complaints` is for a figure that has everything on it, after `figure.canvas.draw()`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer

COVERED = 0.01  # the largest share of a series' pixels that a legend may cover
BEYOND = 2.0  # pixels that a text may stick out of the figure
EXCHANGEABLE = "a seed"  # curves that differ by chance alone need one entry for all


def complaints(figure) -> list[str]:
    return [*covered_by_legends(figure), *outside(figure), *alike(figure), *unnamed(figure)]


def legends(figure) -> list:
    of_panels = [axis.get_legend() for axis in figure.axes]
    return [*filter(None, of_panels), *figure.legends]


def series(axis) -> dict[str, tuple]:
    """Labelled curves of a panel, each with its (colour, marker); bars have their hatch."""
    looks = {}
    for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
        if isinstance(handle, ErrorbarContainer):
            handle = handle.lines[0]
        if hasattr(handle, "get_marker"):
            looks[label] = (to_hex(handle.get_color()), handle.get_marker())
        else:
            patch = handle.patches[0] if hasattr(handle, "patches") else handle
            looks[label] = (to_hex(patch.get_facecolor()), patch.get_hatch())
    return looks


def pixels(axis) -> Iterator[np.ndarray]:
    """Points along each curve, and over each bar, in pixels; only those that are seen."""
    seen = axis.get_window_extent()
    for line in axis.lines:
        x, y = line.get_transform().transform(np.column_stack(line.get_data(orig=False))).T
        if line.get_linestyle() != "None" and len(x) > 1:
            steps = np.linspace(0, len(x) - 1, 40 * len(x))
            x, y = (np.interp(steps, np.arange(len(v)), v) for v in (x, y))
        inside = (x >= seen.x0) & (x <= seen.x1) & (y >= seen.y0) & (y <= seen.y1)
        if inside.any():
            yield np.column_stack([x, y])[inside]
    for bar in axis.patches:
        box = bar.get_window_extent()
        grid = np.meshgrid(np.linspace(box.x0, box.x1, 40), np.linspace(box.y0, box.y1, 40))
        yield np.column_stack([part.ravel() for part in grid])


def covered_by_legends(figure) -> list[str]:
    worst = 0.0
    for legend in legends(figure):
        box = legend.get_window_extent()
        for axis in figure.axes:
            for points in pixels(axis):
                inside = ((points >= box.min) & (points <= box.max)).all(1)
                worst = max(worst, float(inside.mean()))
    return [f"a legend covers {worst:.0%} of a series"] if worst > COVERED else []


def outside(figure) -> list[str]:
    """Legends and names of axes that the edge of the figure cuts."""
    width, height = figure.canvas.get_width_height()
    parts = [
        (f"legend of {legend.get_texts()[0].get_text()}", legend) for legend in legends(figure)
    ]
    for axis in figure.axes:
        names = (axis.xaxis.label, axis.yaxis.label)
        parts += [(f"axis {name.get_text()}", name) for name in names if name.get_text()]
    cut = []
    for name, part in parts:
        box = part.get_window_extent()
        reach = max(-box.x0, -box.y0, box.x1 - width, box.y1 - height)
        if reach > BEYOND:
            cut.append(f"{name} sticks out by {reach:.0f} pixels")
    return cut


def alike(figure) -> list[str]:
    """Curves of a panel that share colour and marker."""
    return [
        f"{count} series have colour and marker {look}"
        for axis in figure.axes
        for look, count in Counter(series(axis).values()).items()
        if count > 1
    ]


def unnamed(figure) -> list[str]:
    """Labelled curves that no legend names; curves of a colour that no label of the panel has."""
    named = {text.get_text() for legend in legends(figure) for text in legend.get_texts()}
    wrong = []
    for axis in figure.axes:
        looks = series(axis)
        wrong += [f"no legend names {label}" for label in looks if label not in named]
        colours = {colour for colour, _ in looks.values()}
        if not looks or EXCHANGEABLE in looks:
            continue
        wrong += [
            f"a curve of colour {to_hex(line.get_color())} has no name"
            for line in axis.lines
            if to_hex(line.get_color()) not in colours and not across(axis, line)
        ]
    return wrong


def across(axis, line) -> bool:
    """Is it a line from edge to edge at one height, which the axis names?"""
    return line.get_transform() == axis.get_yaxis_transform(which="grid")

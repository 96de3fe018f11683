"""A comparison as a figure: SVG, PDF or PNG, the same bytes for the same numbers.

One panel for what is bounded and of what, both axes as the sweep and the numbers ask. Printed forms
are dashed, derived solid, best dotted; a colour (safe for colour-blind readers) and a marker belong
to each statement. What does not depend on the axis is flat, and the legend says so. A printed curve
of a false statement is named as such, and where a formula is negative a triangle at
the lower edge stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from dudley.core.errors import InputError
from dudley.core.extras import missing
from dudley.core.files import written
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import describe
from dudley.show.figures.curves import Curve, Level, Panel, panels
from dudley.show.numbers import short
from dudley.theorems.comparison import KINDS, Comparison
from dudley.theorems.gaps import Gaps

# Okabe and Ito's palette without its yellow, which fades on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # no multiple of the colours: 56 pairs
LINES = {"printed": ("--", 1.3), "derived": ("-", 1.8), "best": (":", 1.4)}
KIND = ((0, (6, 1, 1, 1)), 1.0)  # parameter counting, norm-based
ENDINGS = (".svg", ".pdf", ".png")
SETTINGS = {
    "svg.hashsalt": "dudley",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(comparison: Comparison | Gaps, path: Path) -> None:
    """Write the figure; nothing is left at ``path`` if anything fails."""
    figure, kind = of(comparison), path.suffix[1:]
    empty = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    with matplotlib().rc_context(SETTINGS), written(path) as temporary:
        figure.savefig(temporary, format=kind, metadata=empty[kind], dpi=150)


def of(comparison: Comparison | Gaps) -> Any:
    """The figure, in matplotlib's own class: a notebook shows it."""
    shown = panels(comparison)
    heights = [max(3.4, 0.6 + 0.175 * len(_entries(panel))) for panel in shown]
    with drawn(heights) as (figure, axes):
        for axis, panel in zip(axes, shown, strict=True):
            _panel(axis, panel, comparison.sweep)
    return figure


@contextmanager
def drawn(heights: Sequence[float] = (3.4,)) -> Iterator[tuple[Any, list[Any]]]:
    """An empty figure with panels of these heights, to be drawn on with our settings.

    No window and no backend knows it, so that nothing has to be closed.
    """
    with matplotlib().rc_context(SETTINGS):
        figure = import_module("matplotlib.figure").Figure(
            figsize=(10.5, sum(heights)), layout="constrained"
        )
        axes = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False)
        yield figure, list(axes[:, 0])


def expect_axis(sweep: Sweep | None) -> None:
    """Refuse a figure without an axis."""
    if sweep is None:
        raise InputError("figure", "an axis, such as --sweep n=1e3:1e9:log40", "none")


def matplotlib() -> Any:
    """The library; one clear refusal where it is absent."""
    try:
        return import_module("matplotlib")
    except ImportError:
        raise missing("matplotlib", "a figure", "plots") from None


def pyplot():
    """matplotlib's, without a display."""
    matplotlib().use("Agg")
    return import_module("matplotlib.pyplot")


def _entries(panel: Panel) -> list[Curve]:
    """One curve for each statement: what the legend names."""
    return list({curve.id: curve for curve in reversed(panel.curves)}.values())[::-1]


def _panel(axis, panel: Panel, sweep: Sweep | None) -> None:
    assert sweep is not None
    x = sweep.values
    if sweep.log:
        axis.set_xscale("log")
    every = [y for curve in panel.curves for y in curve.log10 if y is not None]
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    room = 0.06 * max(high - low, 0.5)
    axis.set_ylim(low - room, high + room)
    axis.set_xlim(x[0], x[-1])
    for curve in panel.curves:
        _draw(axis, curve, x, low - room)
    for k, level in enumerate(panel.levels):
        axis.plot(x, _gaps(level.log10), color="#777777", lw=0.8, zorder=1)
        _name(axis, level, k, x)
    for crossing in panel.crossings:
        axis.axvline(crossing.at, color="#777777", lw=0.8, ls=(0, (2, 2)))
        before, after = (KINDS[kind] for kind in crossing.kinds)
        axis.annotate(
            f"{crossing.form}: {before} give less | {after}",
            (crossing.at, 0.03),
            xycoords=("data", "axes fraction"),
            ha="center",
            fontsize=6.5,
            color="#444444",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )
    axis.xaxis.set_major_formatter(lambda x, _: short(x))
    axis.yaxis.set_major_formatter(lambda y, _: power(y))
    if high - low > 3:
        axis.yaxis.get_major_locator().set_params(integer=True)
    else:
        axis.set_yticks(round_heights(low - room, high + room))
    axis.grid(True, color="#e6e6e6", lw=0.6)
    axis.set_axisbelow(True)
    axis.set_title(panel.heading, loc="left", fontweight="bold")
    axis.set_xlabel(f"{sweep.name}   ({describe(sweep.name)})")
    _legend(axis, panel)


def _draw(axis, curve: Curve, x, floor: float) -> None:
    colour, marker = style(curve.order)
    line, width = LINES.get(curve.form, KIND)
    every = max(1, len(x) // 8)
    axis.plot(
        x,
        _gaps(curve.log10),
        ls=line,
        lw=width,
        color=colour,
        marker=marker,
        markevery=(curve.order % every, every),
        ms=3.5,
        mfc="white",
    )
    if curve.below:
        axis.plot(
            [x[i] for i in curve.below],
            [floor] * len(curve.below),
            ls="",
            marker="v",
            ms=4,
            color=colour,
            clip_on=False,
        )


def style(order: int) -> tuple[str, str]:
    """The colour and marker of a statement by its place in the panel."""
    return COLOURS[order % len(COLOURS)], MARKERS[order % len(MARKERS)]


def power(y: float) -> str:
    """10^y for an axis: plain digits while they are short.

    >>> power(3.0), power(-1.0), power(0.5), power(12.0)
    ('1000', '0.1', '3.16', '1e12')
    """
    if -3 <= y < 6:
        return short(10**y)
    return f"1e{y:.4g}"


def round_heights(low: float, high: float) -> list[float]:
    """log₁₀ of the round numbers in between: of 1, 2 and 5, or of all digits in a narrow range.

    >>> [power(y) for y in round_heights(-0.5, 1.1)]
    ['0.5', '1', '2', '5', '10']
    """
    digits = (1, 2, 5) if high - low > 0.7 else range(1, 10)
    powers = range(math.floor(low), math.ceil(high) + 1)
    every = [p + math.log10(digit) for p in powers for digit in digits]
    return [y for y in every if low <= y <= high]


def _gaps(heights) -> list[float]:
    return [float("nan") if y is None else y for y in heights]


def _name(axis, level: Level, k: int, x) -> None:
    """The label of a level, each a step further to the right so that none hides another."""
    i = (k * len(x) // 4) % len(x)
    y = level.log10[i]
    low, high = axis.get_ylim()
    if y is not None and low <= y <= high:
        axis.annotate(
            level.label,
            (x[i], y),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=6.5,
            color="#444444",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            zorder=5,
        )


def _legend(axis, panel: Panel) -> None:
    lines = import_module("matplotlib.lines")
    handles = []
    for curve in _entries(panel):
        colour, marker = style(curve.order)
        label = curve.id + (f" † {curve.version}" if curve.is_false else "")
        words = {c.still for c in panel.curves if c.id == curve.id}
        label += f" – {words.pop()}" if len(words) == 1 and "" not in words else ""
        handles.append(
            lines.Line2D([], [], color=colour, marker=marker, ms=3.5, mfc="white", label=label)
        )
    forms = [form for form in LINES if any(c.form == form for c in panel.curves)]
    for form in forms:
        line, width = LINES[form]
        handles.append(lines.Line2D([], [], color="#444444", ls=line, lw=width, label=form))
    if any(c.form not in LINES for c in panel.curves):
        handles.append(
            lines.Line2D([], [], color="#444444", ls=KIND[0], lw=KIND[1], label="one kind only")
        )
    if any(c.below for c in panel.curves):
        handles.append(
            lines.Line2D(
                [], [], color="#444444", ls="", marker="v", ms=4, label="not positive here"
            )
        )
    refuted = any(curve.is_false for curve in panel.curves)
    title = "† false as printed (in this version)" if refuted else None
    axis.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        frameon=False,
        fontsize=7,
        title=title,
        title_fontsize=7,
        alignment="left",
    )

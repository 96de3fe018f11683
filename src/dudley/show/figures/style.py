"""One look for all figures of the laboratory: same bytes for the same numbers.

Every curve differs from its neighbours in colour, in line style and in marker, so that figures
are read by the colour-blind and in grey. What is ordered (T, m, width) goes from dark to light.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from dudley.show.figures import figure as plain
from dudley.show.figures.figure import COLOURS

GREY = "#666666"
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)))
SIGNS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")
SETTINGS = plain.SETTINGS | {
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 7,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
}
LETTERS_PER_INCH = 17.4  # of the caption's font


def distinct(i: int) -> dict[str, Any]:
    """Colour, line and marker of the i-th of several different things."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "ls": DASHES[i % len(DASHES)],
        "marker": SIGNS[i % len(SIGNS)],
        "mfc": "white",
    }


def ordered(i: int, count: int) -> dict[str, Any]:
    """The same of the i-th of ``count`` values of one quantity: from dark to light."""
    ramp = import_module("matplotlib").colormaps["viridis"]
    place = 0.0 if count < 2 else 0.85 * i / (count - 1)
    return distinct(i) | {"color": ramp(place)}


def band(axis, x, ends, color, **how) -> None:
    """An interval along a curve; ``ends`` are its lower and its upper ends."""
    low, high = ends
    axis.fill_between(x, low, high, color=color, alpha=0.15, lw=0, **how)


def bars(axis, x, y, intervals, **look) -> None:
    """Points with their intervals (low, high), in data units; what is not known has no bar."""
    y = [math.nan if v is None else v for v in y]
    below = [length(v, low) for v, (low, _) in zip(y, intervals, strict=True)]
    above = [length(high, v) for v, (_, high) in zip(y, intervals, strict=True)]
    axis.errorbar(x, y, yerr=[below, above], capsize=2, elinewidth=0.9, **look)


def length(high: float | None, low: float | None) -> float:
    """From low to high; 0 where an end is unknown or infinite."""
    if high is None or low is None or not math.isfinite(high - low):
        return 0.0
    return max(0.0, high - low)


def common_heights(axes: Sequence[Any]) -> None:
    """One vertical axis for all panels, so that heights can be compared; before they are drawn."""
    for axis in axes[1:]:
        axis.sharey(axes[0])


def whole_ticks(axis, values) -> None:
    """Ticks on the horizontal axis at these values, in plain digits; on a log axis too."""
    ticker = import_module("matplotlib.ticker")
    axis.set_xticks(list(values), [f"{v:g}" for v in values])
    axis.xaxis.set_minor_locator(ticker.NullLocator())


def wide_log(axis, wide: float = 8.0) -> None:
    """A vertical log axis with plain digits at 1, 2, 5, …, where values span enough for one."""
    low, high = axis.dataLim.intervaly
    if not 0 < low < high / wide:
        return
    ticker = import_module("matplotlib.ticker")
    axis.set_yscale("log")
    axis.yaxis.set_minor_locator(ticker.NullLocator())
    if high / low < 1e4:
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter(lambda y, _: f"{y:g}")


def plain_log(axis) -> None:
    """Plain digits on a vertical log axis: at 1, 2, 5, … below three decades, else at each one."""
    ticker = import_module("matplotlib.ticker")
    low, high = axis.get_ylim()
    subs = (1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)
    axis.yaxis.set_major_locator(ticker.LogLocator(subs=subs))
    axis.yaxis.set_major_formatter(lambda y, _: f"{y:.10f}".rstrip("0").rstrip("."))
    axis.yaxis.set_minor_formatter(ticker.NullFormatter())


def narrow_log(axis) -> None:
    """Log axes that span little more than a decade: plain digits at 1, 2, 5, …, nothing between."""
    ticker = import_module("matplotlib.ticker")
    for scale, (low, high) in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
        if high < 20 * low:
            scale.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
            scale.set_major_formatter(lambda value, _: f"{value:g}")
            scale.set_minor_locator(ticker.NullLocator())


def unnamed_minor_ticks(axis) -> None:
    """No numbers between the decades of a horizontal log axis, where they would run together."""
    axis.xaxis.set_minor_formatter(import_module("matplotlib.ticker").NullFormatter())


def least_span(axis, span: float, most: float = math.inf) -> None:
    """A vertical axis that shows at least so much, so that noise is not magnified.

    Nothing is shown above ``most``, where the quantity has a largest value.
    """
    low, high = axis.get_ylim()
    wider = max(0.0, span - (high - low)) / 2
    high = min(high + wider, max(high, most))
    axis.set_ylim(min(low - wider, high - span), high)


def signed_log(axis, x, y, **look) -> None:
    """Points of a vertical log axis; a triangle at the lower edge stands for what is not positive.

    The legend has an entry of the series' own for the triangles.
    """
    above = [v if v > 0 else math.nan for v in y]
    label = look.pop("label")
    if any(map(math.isfinite, above)):
        axis.plot(x, above, label=label, **look)
    below = [place for place, v in zip(x, y, strict=True) if v <= 0]
    if below:
        height = 0.02 + 0.04 * sum(line.get_gid() == "negative" for line in axis.lines)
        axis.plot(
            below, [height] * len(below), transform=axis.get_xaxis_transform(), clip_on=False,
            ls="", marker=7, ms=6, color=look["color"], label=f"{label}: negative", gid="negative",
        )  # fmt: skip


def setting(axis, text: str) -> None:
    """The heading of a panel where it says which setting the panel shows, such as T = 10."""
    axis.set_title(text)
    axis.set_label(text)  # `bare` writes it beside the name of the horizontal axis


def bare(figure) -> None:
    """Take away all prose: headings and remarks. A setting joins the name of the axis below."""
    for axis in figure.axes:
        if axis.get_title("left").startswith(axis.get_label() or " "):
            axis.set_xlabel(f"{axis.get_xlabel()}   ({axis.get_label()})")
        axis.set_title("")
        for text in list(axis.texts):
            text.remove()


def legend_above(axis, columns: int = 3) -> None:
    """A legend above a panel that has no heading, where it hides nothing."""
    axis.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.4)


def common_legend(axes: list, columns: int = 4, order: Sequence[str] = (), **look) -> None:
    """One legend above all panels, with every label once; those of ``order`` come first."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    first = {label: handles[label] for label in order if label in handles}
    entries = first | handles
    axes[0].figure.legend(
        list(entries.values()), list(entries), loc="outside upper left", ncols=columns, **look
    )


def note(axis, text: str, place: tuple[float, float] = (0.02, 0.03)) -> None:
    """A remark inside a panel."""
    axis.text(*place, text, transform=axis.transAxes, fontsize=7, color=GREY, va="bottom")


def caption(figure, text: str) -> None:
    """Text below the panels, as wide as the figure."""
    width = int(LETTERS_PER_INCH * figure.get_size_inches()[0])
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, width)]
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7, color="#333333")

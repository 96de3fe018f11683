"""A standing as one figure: where each bound stands, from which n it says something, and who is to
blame.

Left, the bounds on one log axis with the measured error; in grey, where guessing does as well.
Right, the number of examples from which each is below guessing, and the culprit beside it. Filled
marks are proved, hollow ones printed; shape, fill and place tell them apart without colour.
"""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

from dudley.certificates.standing.row import Standing, StandingRow
from dudley.core.files import written
from dudley.show.figures.drawing import Drawing, render
from dudley.show.figures.figure import COLOURS
from dudley.show.figures.style import GREY
from dudley.show.standing import in_expectation, markdown, marks, merged, of_whom, reasons
from dudley.theorems import registry

BLUE, ORANGE, GREEN, PINK = COLOURS[:4]
OF_KIND = {"baseline": (GREEN, "s"), "certificate": (BLUE, "o"), "published": (ORANGE, "D")}
SHADE = "#eeeeee"


def draw(standing: Standing, paths: list[Path]) -> None:
    """Write the figure, SVG or PNG."""
    render(drawing(standing), paths)


def write(standing: Standing, folder: Path) -> None:
    """The figure, the tables and the numbers, into a folder that is made if it is absent."""
    folder.mkdir(parents=True, exist_ok=True)
    draw(standing, [folder / "picture.svg", folder / "picture.png"])
    record = json.dumps(standing.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    page = f"# Where each bound stands\n\n![](picture.svg)\n\n{markdown(standing)}"
    for name, words in (("picture.md", page), ("picture.json", record)):
        with written(folder / name) as file:
            file.write_text(words + "\n", encoding="utf-8")


def drawing(standing: Standing) -> Drawing:
    """The figure before it is drawn."""
    rows = _rows(standing)
    height = 1.9 + 0.23 * len(rows)
    return Drawing(
        name="picture",
        shows=_caption(standing),
        paint=partial(_paint, standing=standing, rows=rows),
        panels=(1, 2),
        size=(11.0, height),
    )


def _rows(standing: Standing) -> list[StandingRow]:
    """From top to bottom: by kind, and published ones by the examples they need."""
    first = [*standing.of("baseline"), *merged(standing.of("certificate"))]
    rest = merged(standing.of("published"))
    return first + sorted(rest, key=lambda row: (in_expectation(row), _n(row)))


def _n(row: StandingRow) -> float:
    return row.needed.get("value", math.inf)


def _paint(axes: list[Any], standing: Standing, rows: list[StandingRow]) -> None:
    left, right = axes
    y = list(range(len(rows)))
    for axis in axes:
        axis.set_xscale("log")
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.grid(False, axis="y")
        for i in y[1:]:
            if rows[i].kind != rows[i - 1].kind or in_expectation(rows[i]) != in_expectation(
                rows[i - 1]
            ):
                axis.axhline(i - 0.5, color="#bbbbbb", lw=0.8)
    _errors(left, standing, rows)
    _examples(right, standing, rows)
    left.set_yticks(y, [of_whom(row) + marks(row) for row in rows], fontsize=7.5)
    right.set_yticks(y, [""] * len(y))
    for i, row in zip(y, rows, strict=True):
        right.text(1.02, i, row.culprit, transform=right.get_yaxis_transform(), fontsize=7,
                   va="center")  # fmt: skip
    right.text(1.02, -0.9, "to blame", transform=right.get_yaxis_transform(), fontsize=8,
               fontweight="bold", va="center")  # fmt: skip


def _errors(axis, standing: Standing, rows: list[StandingRow]) -> None:
    every = [x for row in rows for x in (row.value, row.printed, row.best) if x]
    test = standing.test
    low = min(every + ([test["at_most"]] if test else []))
    axis.set_xlim(low / 5, max(10 * max(every), 10))
    axis.axvspan(standing.guess, axis.get_xlim()[1], color=SHADE, lw=0, zorder=0)
    axis.axvline(standing.guess, color=GREY, lw=0.8)
    for i, row in enumerate(rows):
        colour, sign = _look(row)
        spots = [x for x in (row.value, row.printed, row.best) if x]
        axis.plot([min(spots), max(spots)], [i, i], color="#bbbbbb", lw=0.8, zorder=1)
        if row.printed:
            axis.plot(row.printed, i, sign, mfc="white", mec=colour, ms=8)
        if row.best:
            axis.plot(row.best, i, "|", color=colour, ms=8, mew=1.6)
        axis.plot(row.value, i, sign, color=colour, ms=5)
    if test:
        _test(axis, test)
    axis.text(
        standing.guess * 1.5, 1.5, "no better\nthan guessing", fontsize=7, color=GREY, va="center"
    )
    axis.set_xlabel("bound on the probability of an error")
    axis.set_title(f"where each stands at n = {standing.n:,}")
    _legend(axis)


def _look(row: StandingRow) -> tuple[str, str]:
    """Colour and marker."""
    return (PINK, "^") if in_expectation(row) else OF_KIND[row.kind]


def _test(axis, test: dict[str, Any]) -> None:
    """The measured error as a line; where there was none, the upper end and an arrow."""
    at = test["error"] or test["at_most"]
    axis.axvline(at, color="black", lw=1.0, ls=(0, (4, 2)))
    words = "measured" if test["error"] else f"measured: 0 of {test['n']:,}"
    low, _ = axis.get_xlim()
    middle = axis.get_ylim()[0] * 0.55
    axis.annotate(
        words,
        (at, middle),
        xytext=(4, 0),
        textcoords="offset points",
        rotation=90,
        va="center",
        fontsize=7,
    )
    if not test["error"]:
        axis.annotate(
            "", (max(low, at / 4), middle), (at, middle), arrowprops={"arrowstyle": "->", "lw": 0.9}
        )


def _examples(axis, standing: Standing, rows: list[StandingRow]) -> None:
    known = [n for row in rows for n in row.needed.values()]
    axis.set_xlim(1, 100 * max([standing.n, *known]))
    axis.axvline(standing.n, color="black", lw=1.0, ls=(0, (1, 1.5)))
    axis.text(standing.n * 2, 1.5, f"n = {standing.n:,}", fontsize=7, color=GREY, va="center")
    for i, row in enumerate(rows):
        colour, sign = _look(row)
        counts = list(row.needed.values())
        if counts:
            axis.plot([min(counts), max(counts)], [i, i], color="#bbbbbb", lw=0.8, zorder=1)
        if "best" in row.needed:
            axis.plot(row.needed["best"], i, "|", color=colour, ms=8, mew=1.6)
        if "value" in row.needed:
            axis.plot(row.needed["value"], i, sign, color=colour, ms=5.5)
    axis.set_xlabel("examples from which it is below guessing")
    axis.set_title("how much data each needs")


def _legend(axis) -> None:
    from importlib import import_module

    line = import_module("matplotlib.lines").Line2D
    dark = "#444444"
    handles = [
        line([], [], ls="", marker="D", color=dark, ms=5, label="proved (derived)"),
        line([], [], ls="", marker="D", mfc="white", mec=dark, ms=7, label="as printed"),
        line([], [], ls="", marker="|", color=dark, ms=8, mew=1.6, label="best known"),
        line([], [], ls="", marker="^", color=dark, ms=5, label="in expectation °"),
    ]
    axis.legend(handles=handles, loc="center", bbox_to_anchor=(0.36, 0.56), fontsize=6.5)


def _caption(standing: Standing) -> str:
    refuted = [registry.load()[row.name] for row in standing.rows if row.refuted]
    labels = ", ".join(dict.fromkeys(f"{s.paper}: {s.source.label}" for s in refuted if s.source))
    lost = sum(len(names) for why, names in reasons(standing).items())
    facts = standing.facts
    return (
        f"Certificates hold together with probability {1 - standing.delta:g}; each published bound "
        "is derived with explicit constants at this model's norms, paid for, and turned into one "
        f"on the error by the ramp loss at margin {facts['margin']:.3g} (training ramp "
        f"{facts['ramp']:.2g}). Printed marks pay nothing and take 1 for unnamed constants; † "
        f"false as printed, in the version examined ({labels}); ° holds in expectation for an "
        f"empirical risk minimiser and is no bound on this model. {lost} statements about "
        "networks do not apply: the table says why."
    )

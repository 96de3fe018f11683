"""The figure of edelman2021-laws: m½ against T, for each s and length of training."""

from __future__ import annotations

from functools import partial
from typing import Any

from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.show.figures import style


@sketches("edelman2021-laws")
def figures(results: Results) -> list[Sketch]:
    finding = results.with_number("half")
    laws = tuple(one for one in results.findings if "law" in one.numbers)
    text = "m½ of the logistic curve at each T, with 95 % intervals, on logarithmic axes."
    rows = finding.numbers["half"]
    return [Sketch("sizes", text, partial(drawn, rows), laws, size=(7.2, 5.4))]


def drawn(rows: list[dict[str, Any]], axes: list) -> None:
    (axis,) = axes
    series = list(dict.fromkeys((row["s"], row["steps"]) for row in rows))
    for i, (s, steps) in enumerate(series):
        some = [row for row in rows if (row["s"], row["steps"]) == (s, steps) and row["m"]]
        look = style.distinct(i) | {"label": f"s = {s}, {steps:,} steps"}
        if some:
            style.bars(
                axis, [row["T"] for row in some], [row["m"] for row in some],
                [row["interval"] for row in some], **look,
            )  # fmt: skip
    axis.set(xscale="log", yscale="log", xlabel="T", ylabel="m½")
    style.legend_above(axis)

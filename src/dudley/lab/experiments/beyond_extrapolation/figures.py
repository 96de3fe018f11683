"""The figures of beyond-extrapolation: means by length, [CLS] staying and moving."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from dudley.lab.experiments.beyond_extrapolation.longer import MOVES, STAYS
from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.lab.shared.beyond_figures import WORDS, Row, by_setting, gathered
from dudley.show.figures import style

PLACE = {STAYS: "[CLS] in the row it was trained with", MOVES: "[CLS] moved to the end"}
LABEL = "T at which the same weights are tested"


@sketches("beyond-extrapolation")
def figures(results: Results) -> list[Sketch]:
    lengths, s = results.config["lengths"], results.config["parts"][0]["task"]["s"]
    learnt = any(finding.numbers.get(f"cells, {STAYS}") for finding in results.findings)
    return [sketch(results, cls, lengths[0], s) for cls in (STAYS, MOVES) if learnt]


def sketch(results: Results, cls: str, trained: int, s: int) -> Sketch:
    """One place of [CLS]."""
    shows = (
        f"Networks that learnt the task at T = {trained} and saw no other length, {PLACE[cls]}; a "
        "curve for each kind of positions. Means (bootstrap) and shares (Clopper and Pearson) with "
        "95 % intervals; grey: always answering 0; dotted: what dilution alone would leave. "
        f"T > {trained} is a shift of the distribution: no bound applies, and none is shown."
    )
    key = f"cells, {cls}"
    [drawn] = by_setting(results, "T", ["arm"], LABEL, shows, key)
    paint = partial(with_guides, drawn.paint, gathered(results, key), 1 - 2.0**-s)
    return replace(drawn, name=cls, paint=paint)


def with_guides(
    paint: Callable[[list[Any]], None], rows: list[Row], guess: float, axes: list[Any]
) -> None:
    """The panels, with the accuracy of a constant answer, and what dilution alone would leave."""
    paint(axes)
    by_words = {axis.get_ylabel(): axis for axis in axes}
    by_words[WORDS["accuracy"]].axhline(guess, color=style.GREY, lw=0.9, zorder=1)
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    for i, arm in enumerate(arms):
        ends = [(row["T"], row["diluted"]["mean"]) for row in rows if row["arm"] == arm]
        colour = style.ordered(i, len(arms))["color"]
        by_words[WORDS["mass"]].plot(*zip(*ends, strict=True), color=colour, ls=":", lw=1)

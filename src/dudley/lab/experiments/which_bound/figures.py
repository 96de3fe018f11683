"""The figure of which-bound: τ of every measure with the gap, and in the worst environment."""

from __future__ import annotations

from functools import partial
from typing import Any

from dudley.lab.figures.sketch import Sketch, sketches
from dudley.lab.pages.results import Results
from dudley.show.figures import style

SHOWN = 26  # measures of a group, from both ends
TOLD = ("1/m alone", "Control", "H1")  # findings below the figure
NAMES = {
    "heads": "one head (the papers')",
    "blocks": "heads and blocks, all depths",
    "pre-norm": "pre-norm Transformers",
}
KINDS = {
    "published": ("published bound", "#0072b2", "s"),
    "calculus": ("the calculus", "#d55e00", "D"),
    "random": ("random number", "#666666", "x"),
    "other": ("other measure", "#009e73", "o"),
}
RankingRow = dict[str, Any]


@sketches("which-bound")
def figures(results: Results) -> list[Sketch]:
    rows = results.number("ranking")
    groups = [group for group in NAMES if any(row["group"] == group for row in rows)]
    most = max((len(chosen(rows, group)) for group in groups), default=1)
    text = (
        "Kendall's τ of each measure with the measured gap, intervals over cells that hold at once "
        "with 95 % confidence. A thin line ends at the same measure's τ in its worst environment "
        "(two values of one setting, all else the same). Of each statement the form with the "
        f"highest τ; of more than {SHOWN} measures those at both ends."
    )
    below = [f for words in TOLD for f in results.findings if words in f.claim]
    return [
        Sketch(
            "ranking",
            text,
            partial(drawn, rows, groups),
            tuple(below),
            panels=(1, max(1, len(groups))),
            size=(5.2 * max(1, len(groups)), 1.9 + 0.19 * most),
        )
    ]


def chosen(rows: list[RankingRow], group: str) -> list[RankingRow]:
    """The measures of a group that are drawn, the highest τ first; one form of each statement."""
    some, seen = [], set()
    for row in sorted((row for row in rows if row["group"] == group), key=lambda row: -row["τ"]):
        name = row["measure"].rpartition(" ")[0] if kind(row) == "published" else row["measure"]
        if (name, kind(row)) not in seen:
            some.append(row)
            seen.add((name, kind(row)))
    if len(some) <= SHOWN:
        return some
    ends = some[: SHOWN // 2] + some[-(SHOWN // 2) :]
    for row in some[SHOWN // 2 : -(SHOWN // 2)]:
        if kind(row) in ("calculus", "random"):
            ends.append(row)
    return sorted(ends, key=lambda row: -row["τ"])


def kind(row: RankingRow) -> str:
    """How a measure is marked."""
    name = row["measure"]
    if "/" in name and name.rpartition(" ")[2] in ("printed", "derived", "best"):
        return "published"
    return name if name in ("calculus", "random") else "other"


def drawn(rows: list[RankingRow], groups: list[str], axes: list) -> None:
    for axis, group in zip(axes, groups, strict=False):
        some = chosen(rows, group)
        for place, row in enumerate(reversed(some)):
            label, colour, sign = KINDS[kind(row)]
            low, high = row["interval"]
            worst = 1 - 2 * row["worst"]
            if worst == worst:
                axis.plot([worst, row["τ"]], [place, place], color=colour, lw=0.7, alpha=0.5)
                axis.plot(worst, place, marker="|", color=colour, ls="")
            axis.plot([low, high], [place, place], color=colour, lw=2.6, alpha=0.55)
            axis.plot(row["τ"], place, marker=sign, color=colour, ls="", ms=4.5, label=label)
        axis.set_yticks(range(len(some)), [row["measure"] for row in reversed(some)], fontsize=6.5)
        axis.set_ylim(-0.8, len(some) - 0.2)
        axis.set_xlim(-1.05, 1.05)
        axis.axvline(0, color=style.GREY, lw=0.8)
        models = max(row["models"] for row in some)
        style.setting(axis, f"{NAMES[group]}, {models} models")
        axis.set(xlabel="Kendall's τ with the gap")
    if groups:
        style.common_legend(axes[: len(groups)])

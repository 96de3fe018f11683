"""Language models in one pass as one figure: bits per byte against weights and against documents.

The certificate and what was measured, in both forms; a line for ``xz -9`` on the same documents.
Bounds on totals of an earlier form are in the table alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dudley.show.figures import style
from dudley.show.figures.drawing import Drawing, render
from dudley.show.generated.language import LanguageRecords, LanguageRow

CURVES: tuple[tuple[str, Callable[[LanguageRow], float]], ...] = (
    ("mean over documents, certified", lambda row: row.mean),
    ("mean over documents, measured", lambda row: row.mean_loss),
    ("totals, certified", lambda row: math.nan if row.earlier else row.totals),
    ("totals, measured", lambda row: row.totals_loss),
    ("xz -9, one file", lambda row: row.xz),
)


def draw(records: LanguageRecords, paths: list[Path]) -> None:
    """Write the figure, SVG or PNG."""
    render(drawing(records), paths)


def drawing(records: LanguageRecords) -> Drawing:
    """The figure before it is drawn."""
    return Drawing(
        name="language",
        shows=(
            "Bits per byte on new reviews of byte-level GPTs that read each review once: upper "
            "bounds with probability 0.95, and what was measured in the second half of the pass. "
            "The numbers are about the models of that half, not about the last one. Bounds on "
            "totals of an earlier, wider form are left out."
        ),
        paint=partial(_paint, records=records),
        panels=(1, 2),
        size=(9.0, 3.9),
    )


def _paint(axes: list[Any], records: LanguageRecords) -> None:
    whole = [row for row in records.whole if row.seed == 0]
    _panel(axes[0], whole, [row.weights / 1e6 for row in whole])
    axes[0].set_xlabel("weights (millions)")
    axes[0].set_title(f"{whole[0].documents:,} reviews")
    _panel(axes[1], records.parts, [row.documents for row in records.parts])
    axes[1].set_xlabel("reviews that were read")
    axes[1].set_title(f"{records.parts[0].weights / 1e6:.0f} million weights")
    style.common_legend(axes, 3, tuple(name for name, _ in CURVES))


def _panel(axis: Any, rows: list[LanguageRow], x: list[float]) -> None:
    for i, (name, value) in enumerate(CURVES):
        axis.plot(x, [value(row) for row in rows], label=name, **style.distinct(i))
    axis.set_xscale("log")
    axis.set_xticks(x, [f"{size:,.0f}" for size in x])
    axis.set_xticks([], minor=True)
    axis.set_ylabel("bits per byte")

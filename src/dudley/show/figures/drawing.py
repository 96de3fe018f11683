"""A figure before it is drawn, and its drawing: SVG and PNG, equal bytes for equal numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.boundary.damage import refusing
from dudley.core.files import written
from dudley.show.figures import style
from dudley.show.figures.figure import pyplot


@dataclass(frozen=True)
class Drawing:
    """``paint`` gets the axes as a list, row by row; ``panels`` is (rows, columns)."""

    name: str  # part of the file's name, such as success
    shows: str
    paint: Callable[[list[Any]], None]
    panels: tuple[int, int] = field(default=(1, 1), kw_only=True)
    size: tuple[float, float] = field(default=(6.4, 4.4), kw_only=True)

    @property
    def caption(self) -> str:
        """What is shown, as the file's metadata say it."""
        return self.shows

    @property
    def short(self) -> str:
        """What is shown, as the text below the panels says it: there is little room."""
        return self.shows


def render(drawing: Drawing, paths: list[Path]) -> None:
    """One figure into several files; nothing is left at a path if anything fails."""
    plots = pyplot()
    with plots.rc_context(style.SETTINGS):
        rows, columns = drawing.panels
        figure, axes = plots.subplots(
            rows, columns, figsize=drawing.size, squeeze=False, layout="constrained"
        )
        try:
            with refusing(f"figure {drawing.name}", "the tables and findings that it shows"):
                drawing.paint(list(np.ravel(axes)))
                style.caption(figure, drawing.short)
                for path in paths:
                    kind = path.suffix[1:]
                    about = {"Title": drawing.name, "Description": drawing.caption}
                    none = {"svg": {"Date": None}, "png": {"Software": None}}
                    with written(path) as temporary:
                        figure.savefig(temporary, format=kind, metadata=about | none[kind], dpi=150)
        finally:
            plots.close(figure)

"""A figure before it is drawn, and its drawing: SVG and PNG, equal bytes for equal numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dudley.core.boundary.damage import refusing
from dudley.core.files import written
from dudley.show.figures import style
from dudley.show.figures.figure import pyplot

SHOWN = "the tables and findings that it shows"


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


def render(drawing: Drawing, paths: list[Path], bare: bool = False) -> None:
    """One figure into several files; nothing is left at a path if anything fails."""
    with painted(drawing, bare) as figure, refusing(f"figure {drawing.name}", SHOWN):
        for path in paths:
            kind = path.suffix[1:]
            about = {"Title": drawing.name} | ({} if bare else {"Description": drawing.caption})
            none = {"svg": {"Date": None}, "png": {"Software": None}}
            with written(path) as temporary:
                figure.savefig(temporary, format=kind, metadata=about | none[kind], dpi=150)


@contextmanager
def painted(drawing: Drawing, bare: bool = False) -> Iterator[Any]:
    """The figure with everything on it, while the context lasts.

    A bare figure has no prose: axes, legends and data alone, as a paper with its own caption wants.
    """
    plots = pyplot()
    with plots.rc_context(style.SETTINGS):
        rows, columns = drawing.panels
        figure, axes = plots.subplots(
            rows, columns, figsize=drawing.size, squeeze=False, layout="constrained"
        )
        try:
            with refusing(f"figure {drawing.name}", SHOWN):
                drawing.paint(list(np.ravel(axes)))
            if bare:
                style.bare(figure)
            else:
                style.caption(figure, drawing.short)
            yield figure
        finally:
            plots.close(figure)

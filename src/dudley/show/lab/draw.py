"""Draw the figures of a results folder, each as SVG and PNG; the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dudley.core.boundary.damage import refusing
from dudley.core.files import written
from dudley.show.figure import pyplot
from dudley.show.lab import catalogue, style
from dudley.show.lab.results import Results
from dudley.show.lab.sketch import Sketch

ENDINGS = (".svg", ".png")


def figures(results: Results) -> list[Sketch]:
    """The sketches of an experiment; of one without figures of its own, the plain ones."""
    if results.name not in catalogue.SKETCHES:
        return catalogue.plain(results)
    return catalogue.SKETCHES[results.name](results)


def draw(
    results: Results, out: Path, endings: tuple[str, ...] = ENDINGS
) -> list[tuple[Sketch, list[Path]]]:
    """Write every figure of the results into a folder; each sketch with its files."""
    out.mkdir(parents=True, exist_ok=True)
    drawn = []
    with refusing(f"results folder {results.folder}", "tables and findings of its figures"):
        sketches = figures(results)
    for sketch in sketches:
        paths = [out / file_name(results, sketch, ending) for ending in endings]
        render(sketch, paths)
        drawn.append((sketch, paths))
    return drawn


def file_name(results: Results, sketch: Sketch, ending: str) -> str:
    """Such as edelman2021-and-paper-success.svg."""
    return f"{results.name}-{results.scale}-{sketch.name}{ending}"


def render(sketch: Sketch, paths: list[Path]) -> None:
    """One figure into several files; nothing is left at a path if anything fails."""
    plots = pyplot()
    with plots.rc_context(style.SETTINGS):
        rows, columns = sketch.panels
        figure, axes = plots.subplots(
            rows, columns, figsize=sketch.size, squeeze=False, layout="constrained"
        )
        try:
            with refusing(f"figure {sketch.name}", "the tables and findings that it shows"):
                sketch.paint(list(np.ravel(axes)))
                style.caption(figure, sketch.short)
                for path in paths:
                    kind = path.suffix[1:]
                    told = {"Title": sketch.name, "Description": sketch.caption}
                    none = {"svg": {"Date": None}, "png": {"Software": None}}
                    with written(path) as temporary:
                        figure.savefig(temporary, format=kind, metadata=told | none[kind], dpi=150)
        finally:
            plots.close(figure)

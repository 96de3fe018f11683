"""Draw the figures of a results folder, each as SVG and PNG; the same bytes each time."""

from __future__ import annotations

from pathlib import Path

from dudley.core.boundary.damage import refusing
from dudley.lab.figures.plain import plain
from dudley.lab.figures.sketch import SKETCHES, Sketch
from dudley.lab.pages.results import Results
from dudley.show.figures.drawing import render

ENDINGS = (".svg", ".png")


def figures(results: Results) -> list[Sketch]:
    """The sketches of an experiment; of one without figures of its own, the plain ones."""
    if results.name not in SKETCHES:
        return plain(results)
    return SKETCHES[results.name](results)


def draw(
    results: Results, out: Path, endings: tuple[str, ...] = ENDINGS, bare: bool = False
) -> list[tuple[Sketch, list[Path]]]:
    """Write every figure of the results into a folder; each sketch with its files.

    Bare figures have no prose, and a figure that is nothing but prose is left out.
    """
    out.mkdir(parents=True, exist_ok=True)
    drawn = []
    with refusing(f"results folder {results.folder}", "tables and findings of its figures"):
        sketches = figures(results)
    for sketch in sketches:
        if bare and sketch.prose:
            continue
        paths = [out / file_name(results, sketch, ending) for ending in endings]
        render(sketch, paths, bare)
        drawn.append((sketch, paths))
    return drawn


def file_name(results: Results, sketch: Sketch, ending: str) -> str:
    """Such as edelman2021-and-paper-success.svg."""
    return f"{results.name}-{results.scale}-{sketch.name}{ending}"

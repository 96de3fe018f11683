"""An experiment as a document: claims with readings and verdicts, the figures, the provenance."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dudley.lab.experiment import EXPERIMENTS
from dudley.lab.figures.draw import draw
from dudley.lab.pages.page import made
from dudley.lab.pages.results import Results
from dudley.lab.pages.run import findings_table, readings_sections
from dudley.show.document import Document, DocumentBlock, Folded, Listing, Picture, Section
from dudley.show.pages import made_by


def document(folder: Path) -> Document:
    """Of a results folder; figures are drawn anew from its tables."""
    results = Results(folder)
    experiment = EXPERIMENTS[results.name]
    blocks: list[DocumentBlock] = [
        Section("Found", (findings_table(results.findings),)),
        *readings_sections(results.findings),
        Section("Figures", tuple(pictures(results))),
        Folded("Provenance", (Listing(made(results)),)),
    ]
    return Document(
        f"{results.name}, {results.scale}",
        tuple(blocks),
        lead=(experiment.question, experiment.source),
        made=made_by(),
        kind="experiment",
    )


def pictures(results: Results) -> list[Picture]:
    """Every figure as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            Picture(
                paths[0].read_text(encoding="utf-8"), f"{results.name}, {sketch.name}", sketch.shows
            )
            for sketch, paths in draw(results, Path(folder), (".svg",))
        ]

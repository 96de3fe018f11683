"""An experiment as a document: each claim with its verdict, the figures, the provenance."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dudley.lab.catalogue import EXPERIMENTS
from dudley.lab.figures.draw import draw
from dudley.lab.pages.page import made
from dudley.lab.pages.results import Results
from dudley.show.document import Block, Cell, Document, Folded, Listing, Picture, Section, Table
from dudley.show.pages import made_by


def document(folder: Path) -> Document:
    """Of a results folder; figures are drawn anew from its tables."""
    held = Results(folder)
    one = EXPERIMENTS[held.name]
    rows = [
        [f.claim, Cell(f.verdict, look=f.verdict.replace(" ", "-")), f.found] for f in held.findings
    ]
    blocks: list[Block] = [
        Section("Found", (Table.of(["claim", "verdict", "found"], rows),)),
        Section("Figures", tuple(pictures(held))),
        Folded("Provenance", (Listing(made(held)),)),
    ]
    return Document(
        f"{held.name}, {held.scale}",
        tuple(blocks),
        lead=(one.question, one.source),
        made=made_by(),
        kind="experiment",
    )


def pictures(held: Results) -> list[Picture]:
    """Every figure as SVG."""
    with tempfile.TemporaryDirectory() as place:
        return [
            Picture(
                paths[0].read_text(encoding="utf-8"), f"{held.name}, {sketch.name}", sketch.shows
            )
            for sketch, paths in draw(held, Path(place), (".svg",))
        ]

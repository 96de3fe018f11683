"""What a run found, and figures that were drawn, as documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dudley.lab.experiment import Finding
from dudley.lab.figures.sketch import Sketch
from dudley.show.document import Cell, Document, Listing, Prose, Section, Table

HEADS = ["claim", "verdict", "found"]


def findings_table(findings: Sequence[Finding]) -> Table:
    """A row for each claim."""
    rows = [
        [f.claim, Cell(f.verdict, look=f.verdict.replace(" ", "-")), f.observation]
        for f in findings
    ]
    return Table.of(HEADS, rows)


def finished(title: str, findings: Sequence[Finding], files: Path, figures: str) -> Document:
    """The findings of a run, its folder, and the command that draws its figures."""
    where = Listing(f"files: {files}\nfigures: {figures}")
    blocks = (Section("", (findings_table(findings),)), Section("", (where,)))
    return Document(title, blocks, kind="findings")


def drawn(figures: Sequence[tuple[Sketch, Sequence[Path]]]) -> Document:
    """The files and the caption of each figure."""
    sections = [
        Section(
            f"{paths[0].with_suffix('')}  ({', '.join(path.suffix[1:] for path in paths)})",
            tuple(map(Prose, sketch.caption.splitlines())),
        )
        for sketch, paths in figures
    ]
    return Document("", tuple(sections), kind="figures")

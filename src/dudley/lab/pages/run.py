"""What a run found, and figures that were drawn, as documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dudley.lab.figures.sketch import Sketch
from dudley.lab.finding import Finding, PaperReading
from dudley.show.document import Cell, Document, Listing, Prose, Section, Table

HEADS = ["claim", "verdict", "found"]
READINGS = ["left open", "chosen", "the paper", "outcome"]


def findings_table(findings: Sequence[Finding]) -> Table:
    """A row for each claim, hypothesis or question."""
    rows = [[titled(f), Cell(f.verdict, look=f.word), f.observation] for f in findings]
    return Table.of(HEADS, rows)


def titled(finding: Finding) -> str:
    """The claim; what is not a paper's is called ours."""
    text = finding.claim
    return text if finding.kind == "claim" else f"Our {finding.kind}: {text}"


def readings_sections(findings: Sequence[Finding]) -> tuple[Section, ...]:
    """Of every claim, the readings that were run."""
    return tuple(
        Section(
            f"Readings of: {finding.claim}",
            (Table.of(READINGS, [[*texts(reading)] for reading in finding.readings]),),
        )
        for finding in findings
        if finding.readings
    )


def texts(reading: PaperReading) -> tuple[str, str, str, str]:
    return reading.choice, reading.chosen, reading.paper, reading.outcome


def finished(title: str, findings: Sequence[Finding], files: Path, figures: str) -> Document:
    """The findings of a run, its folder, and the command that draws its figures."""
    where = Listing(f"files: {files}\nfigures: {figures}")
    table = Section("", (findings_table(findings),))
    blocks = (table, *readings_sections(findings), Section("", (where,)))
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

"""What a run found, and figures that were drawn, as documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dudley.lab.figures.sketch import Sketch
from dudley.lab.finding import Finding, PaperReading
from dudley.show.document import Cell, Document, Listing, Prose, Section, Table

HEADS = ["claim", "verdict", "found"]
READINGS = ["left open", "chosen", "the paper", "outcome"]
SHOWN = 4  # numbers of a reading in its row


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
    """A row of the table of readings."""
    words = [text for name, value in reading.numbers.items() if (text := _number(name, value))]
    behind = f" ({', '.join(words[:SHOWN])})" if words else ""
    about = reading.paper + (": an extra of ours, which decides nothing" * reading.contrary)
    return reading.choice, reading.chosen, about, f"{reading.outcome}{behind}"


def _number(name: str, value: Any) -> str:
    """A number or an interval by name; nothing where it is neither."""
    if isinstance(value, list) and len(value) == 2 and "interval" in name:
        ends = ("–" if end is None else f"{end:.3g}" for end in value)
        return f"{name.replace('_', ' ')} [{', '.join(ends)}]"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{name.replace('_', ' ')} {value:.3g}"
    return ""


def finished(title: str, findings: Sequence[Finding], files: Path, figures: str) -> Document:
    """The findings of a run, its folder, and the command that draws its figures."""
    where = Listing(f"files: {files}\nfigures: {figures}")
    table = Section("", (findings_table(findings),))
    blocks = (table, *readings_sections(findings), Section("", (where,)))
    return Document(title, blocks, kind="findings")


def drawn(figures: Sequence[tuple[Sketch, Sequence[Path]]], bare: bool = False) -> Document:
    """The files and the caption of each figure; of bare figures the files alone, one a line."""
    if bare:
        files = "\n".join(str(path) for _, paths in figures for path in paths)
        return Document("", (Listing(files),), kind="figures")
    sections = [
        Section(
            f"{paths[0].with_suffix('')}  ({', '.join(path.suffix[1:] for path in paths)})",
            tuple(map(Prose, sketch.caption.splitlines())),
        )
        for sketch, paths in figures
    ]
    return Document("", tuple(sections), kind="figures")

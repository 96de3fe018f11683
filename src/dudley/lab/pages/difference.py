"""The differences between runs as a document: trials, fields of the configs, results."""

from __future__ import annotations

from collections.abc import Mapping

from dudley.lab.store.compare import RunDifference
from dudley.show.document import Cell, Document, DocumentBlock, Prose, Section, Table

VALUES = 6  # values of a field that are shown for each run


def document(differences: Mapping[str, RunDifference]) -> Document:
    """A section for each pair of stores, by name; a single pair has the name ''."""
    sections = [Section(name, tuple(_pair(pair))) for name, pair in differences.items()]
    return Document("", tuple(sections), kind="difference")


def _pair(difference: RunDifference) -> list[DocumentBlock]:
    first, second = difference.only
    compared = difference.common - difference.undone
    blocks: list[DocumentBlock] = [
        Prose(
            f"{difference.common:,} trials in both, {first:,} only in the first, "
            f"{second:,} only in the second"
        )
    ]
    if difference.undone:
        blocks.append(Prose(f"{difference.undone:,} not done in one or the other"))
    blocks.append(Prose(f"results: {compared - difference.differing:,} of {compared:,} equal"))
    if difference.fields:
        rows = [[name, *map(_values, sides)] for name, sides in difference.fields.items()]
        heads = ["field", "only in the first", "only in the second"]
        blocks.append(Section("", (Table.of(heads, rows),)))
    if difference.columns:
        rows = [
            [name.removeprefix("result."), Cell(f"{count:,}", count), _most(most)]
            for name, (count, most) in difference.columns.items()
        ]
        heads = ["result", "trials that differ", "by at most"]
        blocks.append(Section("", (Table.of(heads, rows),)))
    return blocks


def _values(values: list[str]) -> str:
    return ", ".join(values[:VALUES]) + (" …" if len(values) > VALUES else "") or "–"


def _most(most: float | None) -> Cell:
    return Cell("–") if most is None else Cell(f"{most:.3g}", most)

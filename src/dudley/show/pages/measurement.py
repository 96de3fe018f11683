"""A measured checkpoint as a document: certified norms by layer and head, every tensor's fate."""

from __future__ import annotations

from typing import Any

from dudley.core.rounding import ceiling
from dudley.show.document import Cell, Document, Folded, Points, Properties, Section, Table
from dudley.show.pages import BUILDERS, made_by

NORMS = ("op", "fro", "l11", "col21", "row21", "row2inf")


@BUILDERS.register("measure")
def document(items: list[dict[str, Any]]) -> Document:
    """The checkpoint that was measured."""
    (item,) = items
    blocks = [
        Section("Norms, rounded up", (norms(item),)),
        Folded("Architecture", (Properties(tuple(_named(item["architecture"]))),)),
        Folded("Totals", (Properties(tuple(_named(item["totals"]))),), open=True),
        Folded(f"Every tensor ({len(item['tensors'])})", (tensors(item),)),
    ]
    if item["notes"]:
        blocks.append(Section("Notes", (Points(tuple(item["notes"])),)))
    return Document(
        f"Measured: {item['id']}",
        tuple(blocks),
        lead=(f"layout {item['layout']}", f"{item['layers']} layers"),
        made=made_by(),
        kind="measurement",
    )


def norms(item: dict[str, Any]) -> Table:
    """A row for each matrix."""
    rows = []
    for one in item["rows"]:
        place = [
            Cell("", -1) if one[name] is None else Cell(str(one[name]), one[name])
            for name in ("layer", "head")
        ]
        found = [one["norms"].get(norm) for norm in NORMS]
        numbers = [Cell("–") if x is None else Cell(ceiling(x), x) for x in found]
        shape = "×".join(map(str, one["shape"]))
        rows.append([Cell(one["role"], why=one["from"]), *place, shape, *numbers])
    return Table.of(["matrix", "layer", "head", "shape", *NORMS], rows)


def tensors(item: dict[str, Any]) -> Table:
    """What became of every tensor of the file."""
    names = sorted({name for one in item["tensors"] for name in one})
    first = [name for name in ("name", "shape", "dtype") if name in names]
    heads = first + [name for name in names if name not in first]
    return Table.of(heads, [[_text(one.get(n)) for n in heads] for one in item["tensors"]])


def _named(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, _text(value)) for name, value in values.items() if value not in ("", None)]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "×".join(map(str, value))
    if isinstance(value, dict):  # largest norms, rounded up as in the table
        return ", ".join(f"{name} {ceiling(x)}" for name, x in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)

"""A measured checkpoint as a document: certified norms by layer and head, every tensor's fate."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dudley.core.boundary.text import line
from dudley.core.rounding import ceiling
from dudley.show.document import (
    Cell,
    Document,
    DocumentBlock,
    Folded,
    Points,
    Properties,
    Prose,
    Section,
    Table,
)
from dudley.show.pages import BUILDERS, judgement, made_by
from dudley.weights.judgement import record_of
from dudley.weights.measurement import PRODUCTS

if TYPE_CHECKING:
    from dudley.weights.forward import ForwardCheck
    from dudley.weights.measurement import MatrixRow, Measurement

LONGEST = 160  # letters of a tensor's name
COMPARED = {"language": "the logits of every token", "classes": "the logits of the classes"}
NORMS = ("op", "fro", "l11", "col21", "row21", "row2inf")


@BUILDERS.register("measure")
def document(items: list[dict[str, Any]]) -> Document:
    """The checkpoint that was measured."""
    (item,) = items
    blocks: list[DocumentBlock] = []
    if item.get("judgement"):
        blocks.append(Section("What stands out", (judgement.properties(item["judgement"]),)))
    blocks += [
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
    for matrix in item["rows"]:
        place = [
            Cell("", -1) if matrix[name] is None else Cell(str(matrix[name]), matrix[name])
            for name in ("layer", "head")
        ]
        values = [matrix["norms"].get(norm) for norm in NORMS]
        numbers = [Cell("–") if x is None else Cell(ceiling(x), x) for x in values]
        shape = "×".join(map(str, matrix["shape"]))
        rows.append([Cell(matrix["role"], why=matrix["from"]), *place, shape, *numbers])
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


def summary(
    measurement: Measurement,
    per_head: bool = False,
    sibling: Measurement | None = None,
    check: ForwardCheck | None = None,
) -> Document:
    """For a terminal: what stands out, a table for each layer, totals, tensors, a check."""
    layers = "1 layer" if measurement.layers == 1 else f"{measurement.layers} layers"
    record = record_of(measurement, sibling)
    blocks: list[DocumentBlock] = [] if record is None else [judgement.properties(record)]
    blocks.append(Section("", tuple(map(Prose, explained(measurement, per_head)))))
    for layer in (None, *range(measurement.layers)):
        rows = [row for row in measurement.rows if row.layer == layer]
        if rows:
            title = "outside the layers" if layer is None else f"layer {layer}"
            blocks.append(Section(title, (layer_table(measurement, rows, per_head),)))
    blocks.append(Section("", (totals(measurement),)))
    title = "tensors (* stands for the numbers of layers)"
    blocks.append(Section(title, (fates(measurement),)))
    if check is not None:
        title = f"checked against {check.model} of {check.library}"
        blocks.append(Section(title, (differences(check),)))
    return Document(
        f"{measurement.source}: {measurement.layout}, {layers}",
        tuple(blocks),
        kind="measurement",
    )


def explained(measurement: Measurement, per_head: bool) -> list[str]:
    """What the numbers of the tables are, and notes on the checkpoint."""
    return [
        "certified upper ends, W ∈ R^{in×out} as in x ↦ xW; stable rank is ‖W‖_F²/‖W‖₂²",
        *legend(measurement, per_head),
        *(f"note: {note}" for note in measurement.notes),
    ]


def differences(check: ForwardCheck) -> Properties:
    """How far the described network is from the library's, and on which inputs."""
    verdict = "the same network" if check.agrees else "another network"
    runs = f"{check.examples} random inputs of {check.tokens} rows, seed {check.seed}, float64"
    size = f"{check.absolute:.2g}, relative {check.relative:.2g}; tolerated {check.tolerance:g}"
    return Properties(
        (
            ("compared", f"{COMPARED.get(check.outputs, check.outputs)}, on {runs}"),
            ("difference", size),
            ("verdict", verdict),
        )
    )


def legend(measurement: Measurement, per_head: bool) -> list[str]:
    """What names and columns mean, where they occur."""
    lines = []
    if any(row.role in PRODUCTS for row in measurement.rows):
        which = "" if per_head else ": the head of largest op (--per-head: all)"
        lines.append(f"W_QK = W_Q W_Kᵀ and W_VO = W_v W_c{which}")
    if measurement.rank_tolerance is not None:
        lines.append(f"rank: singular values above {measurement.rank_tolerance:g} of the largest")
    if measurement.init is not None:
        lines.append(f"moved: distance from {measurement.init}")
    return lines


def layer_table(measurement: Measurement, rows: list[MatrixRow], per_head: bool) -> Table:
    """The matrices of a layer; of the products of heads the largest, unless all are wanted."""
    named = [(row.role, row) for row in rows if row.head is None]
    if per_head:
        named += [(f"{row.role} head {row.head}", row) for row in rows if row.head is not None]
    else:
        for role in PRODUCTS:
            heads = [row for row in rows if row.role == role]
            if heads:
                worst = max(heads, key=lambda row: row.op.upper)
                named.append((f"{role} head {worst.head}", worst))
    columns = columns_of(measurement)
    lines = [
        [name, _size(row.shape), *(cell(row) for cell in columns.values())] for name, row in named
    ]
    return Table.of(["", "in×out", *columns], lines)


def columns_of(measurement: Measurement) -> dict[str, Callable[[MatrixRow], Cell]]:
    """What is shown of a matrix, by the head of the column."""
    columns: dict[str, Callable[[MatrixRow], Cell]] = {
        norm: lambda row, norm=norm: _upper(row.norms[norm]) for norm in NORMS
    }
    columns["stable"] = lambda row: (
        Cell("") if min(row.shape) == 1 else _upper(row.stable_rank.upper, 3)
    )
    if measurement.rank_tolerance is not None:
        columns["rank"] = lambda row: (
            Cell("") if row.rank is None else Cell(str(row.rank), row.rank)
        )
    if measurement.init is not None:
        for norm in ("op", "fro"):
            columns[f"moved.{norm}"] = lambda row, norm=norm: (
                Cell("") if row.distance is None else _upper(row.distance[norm])
            )
    return columns


def totals(measurement: Measurement) -> Properties:
    """How many weights and tensors, and the largest matrix of each role."""
    sums = measurement.totals()
    largest = ", ".join(f"{role} {ceiling(norm)}" for role, norm in sums["largest_op"].items())
    counted = (
        f"{sums['weights']:,} weights in {sums['matrices']:,} matrices; {sums['tensors']} "
        f"tensors, {sums['used']} used, {sums['skipped']} skipped "
        f"({_bytes(sums['bytes_used'])} and {_bytes(sums['bytes_skipped'])})"
    )
    return Properties((("total", counted), ("largest op", largest)))


def fates(measurement: Measurement) -> Table:
    """Every tensor, used or skipped; names that differ by the layer's number share a row."""
    groups: dict[tuple[str, str, tuple[int, ...]], list[str]] = {}
    for use in measurement.tensors:
        why = re.sub(r" of layer \d+", "", use.why)
        fate = f"used as {why}" if use.used else f"skipped: {why}"
        pattern = re.sub(r"(?<=\.)\d+(?=\.)", "*", use.name)
        groups.setdefault((pattern, fate, tuple(use.shape)), []).append(use.name)
    rows = []
    for (pattern, fate, shape), names in groups.items():
        name = line(pattern if len(names) > 1 else names[0], LONGEST)
        times = f"×{len(names)}" if len(names) > 1 else ""
        rows.append([name, _size(shape), times, fate])
    return Table.of(["", "", "", ""], rows)


def _upper(x: float, digits: int = 4) -> Cell:
    return Cell(ceiling(x, digits), x)


def _size(shape: Sequence[int]) -> Cell:
    return Cell("×".join(map(str, shape)), math.prod(shape))


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"

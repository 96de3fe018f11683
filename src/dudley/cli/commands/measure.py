"""``dudley measure``: certified norms of a checkpoint, and what each of its tensors is."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dudley.cli.output import Json, paragraph, print_json, width
from dudley.cli.progress import watched
from dudley.core.boundary.text import line
from dudley.core.files import expect_place, written
from dudley.core.rounding import ceiling
from dudley.weights.measurement import PRODUCTS

if TYPE_CHECKING:
    from dudley.weights.measurement import MatrixRow, Measurement

COLUMNS = ("op", "fro", "l11", "col21", "row21", "row2inf")
NAME, SIZE, CELL = 18, 11, 10  # widths


def measure(
    checkpoint: Annotated[
        str, typer.Argument(help="A folder, a weights file, or the example tiny-bert.")
    ],
    init: Annotated[
        str | None, typer.Option(help="A second checkpoint: distances are measured from it.")
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="What a LoRA adapter changes; the sum is measured.")
    ] = None,
    layout: Annotated[
        str | None, typer.Option(help="A model type, or a mapping file (TOML).")
    ] = None,
    heads: Annotated[
        int | None, typer.Option(min=1, help="Number of heads, where no config says it.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu | cuda")] = "cpu",
    rank_tolerance: Annotated[
        float | None,
        typer.Option(help="Count singular values above this share of the largest."),
    ] = None,
    per_head: Annotated[bool, typer.Option("--per-head", help="A line for each head.")] = False,
    csv: Annotated[str | None, typer.Option(help="Write every matrix to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Certify the norms of a checkpoint, per layer and head.

    Every tensor is listed, as used or as skipped with the reason. Norms are upper ends that hold
    for the stored weights, in the orientation x ↦ xW.

    Example: dudley measure tiny-bert
    """
    from dudley.weights.measure import measure as run

    if csv is not None:
        expect_place(Path(csv), (".csv",), "--csv")
    with progress() as tell:
        found = run(checkpoint, init, layout, device, rank_tolerance, heads, base, tell)
    if csv is not None:
        with written(Path(csv)) as temporary:
            temporary.write_text(found.to_csv(), encoding="utf-8")
    if as_json:
        print_json("measure", [found.to_json()])
        return
    print(report(found, per_head))


@contextmanager
def progress():
    """Which matrix is being measured, and how many were, on stderr."""
    with watched() as watch:
        watch.say("opening")
        yield lambda what, done, total: watch.say(f"{line(what)}, {done} of {total}")


def report(found: Measurement, per_head: bool = False) -> str:
    """The tables for people."""
    layers = "1 layer" if found.layers == 1 else f"{found.layers} layers"
    lines = [
        f"{line(found.source)}: {line(found.layout)}, {layers}",
        "certified upper ends, W ∈ R^{in×out} as in x ↦ xW; stable rank is ‖W‖_F²/‖W‖₂²",
        *_told(found, per_head),
        *(f"note: {line(note)}" for note in found.notes),
    ]
    columns, left_out = _fitting(_columns(found))
    if left_out:
        told = f"not shown at this width: {', '.join(left_out)} (--json and --csv hold all)"
        lines.append(paragraph(told))
    for layer in (None, *range(found.layers)):
        rows = [row for row in found.rows if row.layer == layer]
        if rows:
            title = "outside the layers" if layer is None else f"layer {layer}"
            head = f"{title:<{NAME}} {'in×out':>{SIZE}}"
            head += "".join(f"{name:>{CELL}}" for name in columns)
            lines += ["", head, *_layer(rows, per_head, columns)]
    return "\n".join([*lines, "", *_total(found), "", *tensors(found)])


def _told(found: Measurement, per_head: bool) -> list[str]:
    told = []
    if any(row.role in PRODUCTS for row in found.rows):
        which = "" if per_head else ": the head of largest op (--per-head: all)"
        told.append(f"W_QK = W_Q W_Kᵀ and W_VO = W_v W_c{which}")
    if found.rank_tolerance is not None:
        told.append(f"rank: singular values above {found.rank_tolerance:g} of the largest")
    if found.init is not None:
        told.append(f"moved: distance from {found.init}")
    return told


def _columns(found: Measurement) -> dict[str, Callable[[MatrixRow], str]]:
    """What is shown of a row, by the column's title."""
    columns: dict[str, Callable[[MatrixRow], str]] = {
        norm: lambda row, norm=norm: ceiling(row.norms[norm]) for norm in COLUMNS
    }
    columns["stable"] = lambda row: "" if min(row.shape) == 1 else ceiling(row.stable_rank.upper, 3)
    if found.rank_tolerance is not None:
        columns["rank"] = lambda row: "" if row.rank is None else str(row.rank)
    if found.init is not None:
        columns["moved.op"] = lambda row: _moved(row, "op")
        columns["moved.fro"] = lambda row: _moved(row, "fro")
    return columns


def _fitting(columns: dict) -> tuple[dict, list[str]]:
    """The columns that fit the width, and the norms that do not; op stays."""
    room = (width() - NAME - 1 - SIZE) // CELL
    many = max(0, len(columns) - room)
    gone = [name for name in columns if name in COLUMNS[1:]][-many:] if many else []
    return {name: show for name, show in columns.items() if name not in gone}, gone


def _moved(row: MatrixRow, norm: str) -> str:
    return "" if row.distance is None else ceiling(row.distance[norm])


def _layer(rows: list[MatrixRow], per_head: bool, columns) -> list[str]:
    lines = [_line(row, row.role, columns) for row in rows if row.head is None]
    if per_head:
        parts = [row for row in rows if row.head is not None]
        return lines + [_line(row, f"{row.role} head {row.head}", columns) for row in parts]
    for role in PRODUCTS:
        heads = [row for row in rows if row.role == role]
        if heads:
            worst = max(heads, key=lambda row: row.op.upper)
            lines.append(_line(worst, f"{role} head {worst.head}", columns))
    return lines


def _line(row: MatrixRow, name: str, columns) -> str:
    size = f"{row.shape[0]}×{row.shape[1]}"
    cells = "".join(f"{show(row):>{CELL}}" for show in columns.values())
    return f"  {name:<{NAME - 2}} {size:>{SIZE}}{cells}".rstrip()


def _total(found: Measurement) -> list[str]:
    totals = found.totals()
    largest = ", ".join(f"{role} {ceiling(value)}" for role, value in totals["largest_op"].items())
    counted = (
        f"{totals['weights']:,} weights in {totals['matrices']:,} matrices; {totals['tensors']} "
        f"tensors, {totals['used']} used, {totals['skipped']} skipped "
        f"({_bytes(totals['bytes_used'])} and {_bytes(totals['bytes_skipped'])})"
    )
    return [
        paragraph(counted, NAME, f"{'total':<{NAME}}"),
        paragraph(largest, NAME, f"{'largest op':<{NAME}}"),
    ]


def _bytes(count: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000  # pyright: ignore[reportAssignmentType]
    return f"{count:.3g} GB"


def tensors(found: Measurement) -> list[str]:
    """Every tensor, used or skipped; names that differ by the layer's number share a line."""
    groups: dict[tuple[str, bool, str, str], list[str]] = {}
    for use in found.tensors:
        why = re.sub(r" of layer \d+", "", use.why)
        size = "×".join(map(str, use.shape))
        key = (re.sub(r"(?<=\.)\d+(?=\.)", "*", use.name), use.used, why, size)
        groups.setdefault(key, []).append(use.name)
    lines = ["tensors (* stands for the numbers of layers)"]
    longest = max((len(name) for name, *_ in groups), default=0)
    sizes = max((len(size) for *_, size in groups), default=0)
    counts = max(len(f"{len(members)}") for members in groups.values()) + 1
    for (name, used, why, size), members in groups.items():
        shown = line(name if len(members) > 1 else members[0], 160)
        times = f"×{len(members)}" if len(members) > 1 else ""
        told = line(f"used as {why}" if used else f"skipped: {why}")
        first = f"  {shown:<{min(longest, 56)}} {size:>{sizes}} {times:>{counts}}  "
        fits = len(first) + len(told) <= width()
        lines.append(first + told if fits else f"{first.rstrip()}\n      {told}")
    return lines

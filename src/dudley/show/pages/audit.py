"""An audit as a document: which forms stand, which are refuted, by which attack."""

from __future__ import annotations

from collections import Counter
from typing import Any

from dudley.show.cells import short
from dudley.show.document import Cell, Document, Prose, Section, Table
from dudley.show.pages import BUILDERS, made_by

HEADS = ["statement", "form", "outcome", "lower bound", "claimed", "ratio", "attack"]


@BUILDERS.register("audit")
def document(items: list[dict[str, Any]]) -> Document:
    """One row for each form of a statement."""
    counts = Counter(item["outcome"] for item in items)
    broken = [i for i in items if i["outcome"] == "refuted" and i["form"] != "printed"]
    first = (
        f"{len(broken)} forms of ours are refuted: release blockers."
        if broken
        else "No derived form is refuted. What is reported as a lower bound is true, so a printed "
        "form below one is false."
    )
    return Document(
        "Bounds attacked",
        (Prose(first), Section("Forms", (Table.of(HEADS, [row(item) for item in items]),))),
        lead=tuple(f"{count} {outcome}" for outcome, count in counts.most_common()),
        made=made_by(),
        kind="audit",
    )


def row(item: dict[str, Any]) -> list[Cell]:
    """What an attack reached, against what is claimed."""
    look = {"refuted": "no" if item["form"] != "printed" else "false"}.get(item["outcome"], "")
    numbers = [value(item.get(name)) for name in ("lower", "claimed", "ratio")]
    given = ", ".join(f"{name} = {x:g}" for name, x in (item.get("inputs") or {}).items())
    return [
        Cell(item["statement"]),
        Cell(item["form"]),
        Cell(item["outcome"], look=look),
        *numbers,
        Cell(item.get("attack") or "", why=given),
    ]


def value(x: float | None) -> Cell:
    return Cell("–") if x is None else Cell(short(x), x)

"""An audit as a document: which forms stand, which are refuted, by which attack."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dudley.show.document import Cell, Document, Prose, Section, Table
from dudley.show.numbers import short
from dudley.show.pages import BUILDERS, made_by

if TYPE_CHECKING:
    from dudley.audit.judge import Judgement as Judged
    from dudley.audit.run import Report

HEADS = ["statement", "form", "outcome", "lower bound", "claimed", "ratio", "attack"]


@BUILDERS.register("audit")
def document(items: list[dict[str, Any]]) -> Document:
    """One row for each form of a statement."""
    counts = Counter(item["outcome"] for item in items)
    broken = [i for i in items if i["outcome"] == "refuted" and i["form"] != "printed"]
    first = (
        f"Refuted forms of ours, which block a release: {len(broken)}."
        if broken
        else "No derived form is refuted. What is reported as a lower bound is true, so a printed "
        "form below one is false in the version that was examined."
    )
    return Document(
        "Bounds attacked",
        (
            Prose(first),
            Section("Forms", (Table.of(HEADS, [row(item) for item in items]),)),
            *map(Prose, examined(i["statement"] for i in items if i["outcome"] == "refuted")),
        ),
        lead=tuple(f"{count} {outcome}" for outcome, count in counts.most_common()),
        made=made_by(),
        kind="audit",
    )


def examined(refuted: Iterable[str]) -> list[str]:
    """Which versions the refuted statements are of; one that is not known here has none."""
    from dudley.theorems import registry

    known = registry.load()
    return registry.caveats(known[id] for id in refuted if id in known)


def row(item: dict[str, Any]) -> list[Cell]:
    """What an attack reached, against what is claimed."""
    look = {"refuted": "no" if item["form"] != "printed" else "false"}.get(item["outcome"], "")
    numbers = [value(item.get(name)) for name in ("lower", "claimed", "ratio")]
    inputs = ", ".join(f"{name} = {x:g}" for name, x in (item.get("inputs") or {}).items())
    return [
        Cell(item["statement"]),
        Cell(item["form"]),
        Cell(item["outcome"], look=look),
        *numbers,
        Cell(item.get("attack") or "", why=inputs),
    ]


def value(x: float | None) -> Cell:
    return Cell("–") if x is None else Cell(short(x), x)


def summary(report: Report) -> Document:
    """For a terminal: one line for each form, then what it all comes to."""
    from dudley.theorems.order import reading_order

    rows = sorted(report.table, key=lambda row: (reading_order(row.statement), row.form))
    table = Table.of(HEADS, [_line(row) for row in rows])
    return Document("", (table, *map(Prose, sentences(report))), kind="audit")


def _line(row: Judged) -> list[Cell | str]:
    claimed = "past 1e308" if row.claimed is None else f"{row.claimed:.4g}"
    ratio = "∞" if row.ratio is None else f"{row.ratio:.3g}"
    numbers = (
        Cell(f"{row.lower:.4g}", row.lower),
        Cell(claimed, math.inf if row.claimed is None else row.claimed),
        Cell(ratio, math.inf if row.ratio is None else row.ratio),
    )
    return [row.statement, row.form, row.outcome.value, *numbers, row.attack]


def sentences(report: Report) -> list[str]:
    """What an audit comes to."""
    from dudley.audit.judge import Outcome

    counts = {o: sum(row.outcome is o for row in report.table) for o in Outcome}
    many = len(report.table) != 1
    verbs = {o: o.value for o in Outcome}
    if counts[Outcome.STANDS] != 1:
        verbs[Outcome.STANDS] = "stand"
    forms = ", ".join(f"{count} {verbs[o]}" for o, count in counts.items() if count)
    chance = sum({(row.attack, row.statement): row.δ for row in report.rows}.values())
    lines = [f"{len(report.table)} form{'s' * many}: {forms}."] if forms else []
    if chance:
        lines.append(f"All lower bounds hold at once but for a chance of {chance:.1e}.")
    if report.not_reproduced and not report.undone:
        lines.append(f"Called false and not refuted: {', '.join(report.not_reproduced)}.")
    lines += examined(r.statement for r in report.table if r.outcome is Outcome.REFUTED)
    lines += unattacked(report)
    if report.undone:
        lines.append(f"{len(report.undone)} attacks were left undone; raise --budget to go on.")
    return lines or ["Nothing was attacked."]


def unattacked(report: Report) -> list[str]:
    """The statements that nothing was tried on: not one word on whether they hold."""
    from dudley.theorems import registry

    every = [(id, registry.load()[id].quantity) for id in report.unattacked]
    return [f"{id}: not attacked; no attack knows this quantity ({what})." for id, what in every]

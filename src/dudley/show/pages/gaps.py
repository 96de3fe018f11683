"""Bounds as gaps, as a document: one table, best first, and what each number rests on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from dudley.core.confidence import confidence
from dudley.core.sweep import Sweep
from dudley.show import cells
from dudley.show.document import (
    Cell,
    Document,
    DocumentBlock,
    Folded,
    Points,
    Prose,
    Section,
    Table,
)
from dudley.show.figures.curves import panels
from dudley.show.numbers import plain
from dudley.show.pages import BUILDERS, made_by
from dudley.show.pages.comparison import chart, missing, situation, still
from dudley.theorems.comparison import FORMS
from dudley.theorems.conversion import GAP
from dudley.theorems.gaps import GapRow, Gaps, gaps

TITLE = "Bounds as gaps"
NONE = "no bound applies to what is given, or none can be converted"


def document(result: Gaps) -> Document:
    """Everything that `dudley compare --as gap` says, as a page."""
    drawn = panels(result) if result.sweep else []
    charts = [Section(p.heading, (chart(result.sweep, p),)) for p in drawn]
    blocks = (*setting(result), *ranking(result), *charts, *notes(result))
    return Document(TITLE, blocks, lead=situation(result), made=made_by(), kind="gaps")


@BUILDERS.register("gaps")
def from_json(items: list[dict[str, Any]]) -> Document:
    """What was compared is compared again: the same description gives the same bounds."""
    (item,) = items
    axis = item["sweep"]
    if axis is not None:
        axis = Sweep(axis["name"], tuple(axis["values"]), axis["log"])
    return document(gaps(item["situation"], axis))


def summary(result: Gaps, every_missing: bool = False) -> Document:
    """For a terminal."""
    blocks: list[DocumentBlock] = [
        Section(f"{GAP}, best first{_where(result)}", (*setting(result), *ranking(result)))
    ]
    blocks += [Folded(one.title, one.blocks) for one in notes(result)]
    if result.missing:
        blocks.append(missing(result, every_missing))
    return Document("", tuple(blocks), kind="gaps")


def _where(result: Gaps) -> str:
    """At which point the order is the best one."""
    if result.sweep is None:
        return f" at n = {plain(result.task.n)}"
    return f" at {result.sweep.name} = {plain(result.points[-1])}"


def setting(result: Gaps) -> tuple[Prose, ...]:
    """δ, n and the loss in words, and how to read the order."""
    delta = result.task.delta
    taken = "" if "delta" in result.situation.values else ", since none is given"
    on = "" if _over_n(result) else f" over {plain(result.task.n)} examples"
    words = f"With probability at least {confidence(delta)} (delta = {plain(delta)}{taken}){on}"
    return (
        Prose(f"{words}, for {result.loss}."),
        Prose("A number is about every function of its class: compare within a class."),
    )


def ranking(result: Gaps) -> tuple[DocumentBlock, ...]:
    """The table, best first, and what does not depend on the axis."""
    if not result.rows:
        return (Prose(NONE),)
    return (table(result, result.rows), *still(result.sweep, result.rows))


def table(result: Gaps, rows: Sequence[GapRow]) -> Table:
    """Bounds, classes and numbers; along an axis from where on the derived form is useful."""
    forms = [form for form in FORMS if any(form in row.curves for row in rows)]
    heads = ["bound", "of", *forms, *([cells.informs(result)] if _over_n(result) else [])]
    return Table.of(heads, [_line(result, row, forms) for row in rows])


def _line(result: Gaps, row: GapRow, forms: Sequence[str]) -> list[Cell]:
    columns = [Cell(row.id, why=row.standing), Cell(row.subject)]
    for form in forms:
        last = next((b for b in reversed(row.bounds(form)) if b is not None), None)
        key = None if last is None else last.log_value
        false = row.false and form == "printed" and last is not None
        text, look = cells.cell(row, form) + ("†" if false else ""), "false" if false else ""
        columns.append(Cell(text, key, row.refusals.get(form, ""), look))
    if _over_n(result):
        proved = "best" if "best" in row.curves else "derived"
        i = row.informative_from(proved)
        key = None if i is None else result.points[i]
        columns.append(Cell(cells.informative(result, row, proved) or "–", key))
    return columns


def _over_n(result: Gaps) -> bool:
    """Along n every gap falls: from where on is it useful?"""
    return result.sweep is not None and result.sweep.name == "n"


def notes(result: Gaps) -> list[Folded]:
    """Marks, how each was converted, what was not, what was refused."""
    lists = {
        "Marks": _marks(result),
        "How each became a gap": conversions(result.rows),
        "Not converted": [
            f"{why}: {', '.join(ids)}" for why, ids in by_reason(result.unconverted).items()
        ],
        "Refused": cells.refusals(result),
    }
    return [
        Folded(title, (Points(tuple(lines)),), open=title in ("Marks", "Not converted"))
        for title, lines in lists.items()
        if lines
    ]


def _marks(result: Gaps) -> list[str]:
    lines = [f"{mark} {meaning}" for mark, meaning in cells.marks_in(result.rows).items()]
    if any(row.false for row in result.rows):
        lines.append("† false as printed, in the version examined")
    return lines


def conversions(rows: Sequence[GapRow]) -> list[str]:
    """One line for each way, with what it assumes and the bounds that went it."""
    ways: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        ways[row.conversion.how, row.conversion.assumption].append(row.id)
    return [
        f"{how}{f' (assumed: {assumption})' if assumption else ''}: {', '.join(ids)}"
        for (how, assumption), ids in ways.items()
    ]


def by_reason(unconverted: Mapping[str, str]) -> dict[str, list[str]]:
    """The bounds that were not converted, by the reason."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for id, why in unconverted.items():
        reasons[why].append(id)
    return dict(reasons)

"""A comparison of bounds as a document: a chart and a table for each kind of quantity, notes."""

from __future__ import annotations

from typing import Any

from dudley.core.sweep import Sweep
from dudley.core.vocabulary import describe
from dudley.show import cells
from dudley.show.document import (
    Block,
    Cell,
    Chart,
    Document,
    Folded,
    Line,
    Points,
    Prose,
    Section,
    Table,
)
from dudley.show.figures.curves import Panel, panels
from dudley.show.pages import BUILDERS, made_by
from dudley.theorems.comparison import FORMS, KINDS, Comparison, ComparisonRow, compare


def document(comparison: Comparison) -> Document:
    """Everything that `dudley compare` says."""
    shown = {p.measure: p for p in panels(comparison)} if comparison.sweep else {}
    blocks: list[Block] = [
        section(comparison, measure, rows, shown.get(measure))
        for measure, rows in comparison.groups.items()
    ]
    if not blocks:
        blocks.append(Prose("No statement applies: see what is missing."))
    return Document(
        "Bounds compared",
        (*blocks, *notes(comparison)),
        lead=situation(comparison),
        made=made_by(),
        kind="comparison",
    )


@BUILDERS.register("compare")
def from_json(items: list[dict[str, Any]]) -> Document:
    """What was compared is compared again: the same description gives the same bounds."""
    (item,) = items
    axis = item["sweep"]
    if axis is not None:
        axis = Sweep(axis["name"], tuple(axis["values"]), axis["log"])
    return document(compare(item["situation"], axis))


def situation(comparison: Comparison) -> tuple[str, ...]:
    """What was given, and the axis."""
    swept = comparison.sweep.name if comparison.sweep else None
    given = [f"{n} = {v:g}" for n, v in comparison.situation.values.items() if n != swept]
    if comparison.sweep:
        x = comparison.points
        given.append(f"{swept} from {x[0]:g} to {x[-1]:g} in {len(x)} points")
    return tuple(given)


def section(
    comparison: Comparison, measure: str, rows: list[ComparisonRow], panel: Panel | None
) -> Section:
    """One kind of quantity."""
    charts = () if panel is None else (chart(comparison, panel),)
    return Section(measure, (*charts, table(comparison, rows)))


def chart(comparison: Comparison, panel: Panel) -> Chart:
    """The curves of one kind of quantity."""
    sweep = comparison.sweep
    assert sweep is not None
    return Chart(
        sweep.name,
        describe(sweep.name),
        tuple(sweep.values),
        tuple(Line(c.label, c.log10, c.form, c.order, c.below) for c in panel.curves),
        log=sweep.log,
        levels=tuple(Line(level.label, level.log10) for level in panel.levels),
        crossings=tuple(
            (c.at, f"{c.form}: {KINDS[c.kinds[0]]} give less | {KINDS[c.kinds[1]]}")
            for c in panel.crossings
        ),
    )


def table(comparison: Comparison, rows: list[ComparisonRow]) -> Table:
    """Statements, verdicts and numbers."""
    forms = [form for form in FORMS if any(form in row.curves for row in rows)]
    heads = ["statement", "verdict", *forms]
    tells = comparison.sweep is not None and any(row.can_inform for row in rows)
    if tells:
        heads.append(cells.informs(comparison))
    return Table.of(heads, [line(comparison, row, forms, tells) for row in rows])


def line(comparison: Comparison, row: ComparisonRow, forms: list[str], tells: bool) -> list[Cell]:
    """A row of the table."""
    s = row.statement
    found = [Cell(s.id, why=s.quantity), Cell(s.verdict.value, look=s.verdict.value)]
    for form in forms:
        last = next((b for b in reversed(row.bounds(form)) if b is not None), None)
        key = None if last is None else last.log_value
        found.append(Cell(cells.cell(row, form), key, row.refusals.get(form, "")))
    if tells:
        i = row.informative_from("derived")
        key = None if i is None else comparison.points[i]
        found.append(Cell(cells.informative(comparison, row, "derived"), key))
    return found


def notes(comparison: Comparison) -> list[Folded]:
    """What the marks mean, what followed, what was refused, what is missing."""
    missing = [
        f"{', '.join(names)}: {', '.join(ids)}" for names, ids in cells.lacking(comparison).items()
    ]
    derived = f"Derived from what is given{cells.when_derived(comparison)}"
    lists = {
        "Marks": [f"{mark} {meaning}" for mark, meaning in cells.marks(comparison).items()],
        "Parameter counting against norms": cells.crossings(comparison),
        derived: cells.derivations(dict(comparison.derived)),
        "Names read in different ways": cells.readings(comparison),
        "Refused": cells.refusals(comparison),
        "Not used": list(comparison.unused),
        "Missing for other statements": missing,
    }
    return [
        Folded(f"{title} ({len(lines)})", (Points(tuple(lines)),), open=title == "Marks")
        for title, lines in lists.items()
        if lines
    ]

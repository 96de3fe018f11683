"""A comparison of bounds as a document: a chart and a table for what is bounded and of what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dudley.core.sweep import Sweep
from dudley.core.vocabulary import describe
from dudley.show import cells
from dudley.show.document import (
    Cell,
    Chart,
    Document,
    DocumentBlock,
    Folded,
    Line,
    Points,
    Prose,
    Section,
    Table,
)
from dudley.show.figures.curves import Panel, panels
from dudley.show.numbers import plain, short
from dudley.show.pages import BUILDERS, made_by
from dudley.theorems import registry
from dudley.theorems.by_form import ByForm
from dudley.theorems.comparison import FORMS, KINDS, Comparison, ComparisonRow, compare
from dudley.theorems.gaps import Gaps

NEAR = 1  # a statement that misses so few names is named on a terminal


def document(comparison: Comparison) -> Document:
    """Everything that `dudley compare` says."""
    shown = {p.heading: p for p in panels(comparison)} if comparison.sweep else {}
    blocks: list[DocumentBlock] = [
        section(comparison, heading, rows, shown.get(heading))
        for heading, rows in comparison.groups.items()
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


def situation(comparison: Comparison | Gaps) -> tuple[str, ...]:
    """What was given, and the axis."""
    swept = comparison.sweep.name if comparison.sweep else None
    values = [f"{n} = {plain(v)}" for n, v in comparison.situation.values.items() if n != swept]
    if comparison.sweep:
        x = comparison.points
        values.append(f"{swept} from {plain(x[0])} to {plain(x[-1])} in {len(x)} points")
    return tuple(values)


def section(
    comparison: Comparison, heading: str, rows: list[ComparisonRow], panel: Panel | None
) -> Section:
    """What is bounded, and of what."""
    charts = () if panel is None else (chart(comparison.sweep, panel),)
    return Section(heading, (*charts, table(comparison, rows), *still(comparison.sweep, rows)))


def still(sweep: Sweep | None, rows: Sequence[ByForm]) -> tuple[Points, ...]:
    """What does not move along the axis, by name."""
    lines = cells.still(rows, sweep.name) if sweep else []
    return (Points(tuple(lines), mark=""),) if lines else ()


def chart(sweep: Sweep | None, panel: Panel) -> Chart:
    """The curves of one panel."""
    assert sweep is not None
    return Chart(
        sweep.name,
        describe(sweep.name),
        tuple(sweep.values),
        tuple(Line(c.label, c.log10, c.form, c.order, c.below, c.still) for c in panel.curves),
        log=sweep.log,
        levels=tuple(Line(level.label, level.log10) for level in panel.levels),
        crossings=tuple(
            (c.at, f"{c.form}: {KINDS[c.kinds[0]]} give less | {KINDS[c.kinds[1]]}")
            for c in panel.crossings
        ),
    )


def table(comparison: Comparison, rows: list[ComparisonRow], absent: str = "") -> Table:
    """Statements, verdicts and numbers; ``absent`` stands where a form never says anything."""
    forms = [form for form in FORMS if any(form in row.curves for row in rows)]
    heads = ["statement", "verdict", *forms]
    tells = comparison.sweep is not None and any(row.can_inform for row in rows)
    if tells:
        heads.append(cells.informs(comparison))
    return Table.of(heads, [line(comparison, row, forms, tells, absent) for row in rows])


def line(
    comparison: Comparison, row: ComparisonRow, forms: list[str], tells: bool, absent: str
) -> list[Cell]:
    """A row of the table."""
    s = row.statement
    columns = [Cell(s.id, why=s.quantity), Cell(s.standing, look=s.verdict.as_printed.value)]
    for form in forms:
        last = next((b for b in reversed(row.bounds(form)) if b is not None), None)
        key = None if last is None else last.log_value
        columns.append(Cell(cells.cell(row, form), key, row.refusals.get(form, "")))
    if tells:
        i = row.informative_from("derived")
        key = None if i is None else comparison.points[i]
        columns.append(Cell(cells.informative(comparison, row, "derived") or absent, key))
    return columns


def notes(comparison: Comparison) -> list[Folded]:
    """What the marks mean, what followed, what was refused, what is missing."""
    missing = [
        f"{', '.join(names)}: {', '.join(ids)}" for names, ids in cells.lacking(comparison).items()
    ]
    derived = f"Derived from what is given{cells.when_derived(comparison)}"
    lists = {
        "Marks": [f"{mark} {meaning}" for mark, meaning in cells.marks(comparison).items()],
        "Versions examined": registry.caveats(row.statement for row in comparison.rows),
        "Parameter counting against norms": cells.crossings(comparison),
        derived: cells.derivations(dict(comparison.derived)),
        "Names read in different ways": cells.readings(comparison),
        "Refused": cells.refusals(comparison),
        "Not used": list(comparison.unused),
        "Missing for other statements": missing,
    }
    return [
        Folded(
            f"{title} ({len(lines)})",
            (Points(tuple(lines)),),
            open=title in ("Marks", "Versions examined"),
        )
        for title, lines in lists.items()
        if lines
    ]


def summary(comparison: Comparison, every_missing: bool = False) -> Document:
    """For a terminal: the tables, and of what is missing the names that would help most."""
    along = ""
    if comparison.sweep is not None:
        ends = (short(comparison.points[i]) for i in (0, -1))
        along = f", {comparison.sweep.name} from {' to '.join(ends)}"
    blocks: list[DocumentBlock] = [
        Section(
            f"{heading}{along}",
            (table(comparison, rows, absent="–"), *still(comparison.sweep, rows)),
        )
        for heading, rows in comparison.groups.items()
    ]
    if not blocks:
        blocks.append(Prose("no statement applies to what is given"))
    marks = [f"{mark} {meaning}" for mark, meaning in cells.marks(comparison).items()]
    marks += registry.caveats(row.statement for row in comparison.rows)
    if marks:
        blocks.append(Section("", (Points(tuple(marks), mark=""),)))
    derived = f"derived from what is given{cells.when_derived(comparison)}"
    lists = {
        "refused": cells.refusals(comparison),
        "parameter counting against norms": cells.crossings(comparison),
        derived: cells.derivations(dict(comparison.derived)),
        "names that statements read in different ways": cells.readings(comparison),
    }
    blocks += [_listed(title, lines) for title, lines in lists.items() if lines]
    if comparison.unused:
        unused = f"not used: {', '.join(comparison.unused)}"
        blocks.append(Section("", (Points((unused,), mark=""),)))
    if comparison.missing:
        blocks.append(missing(comparison, every_missing))
    return Document("", tuple(blocks), kind="comparison")


def missing(comparison: Comparison | Gaps, every: bool) -> Folded:
    """What the other statements miss: the nearest by name, the rest by what they want most."""
    groups = cells.lacking(comparison)
    near = {names: ids for names, ids in groups.items() if every or len(names) <= NEAR}
    lines = [f"{', '.join(names)}: {', '.join(ids)}" for names, ids in near.items()]
    rest = len(comparison.missing) - sum(map(len, near.values()))
    if rest:
        wanted = ", ".join(cells.most_wanted(comparison))
        lines.append(f"several names: {rest} others; most wanted are {wanted}")
    count = len(comparison.missing)
    advice = "" if every or not rest else " (--missing lists all)"
    return _listed(f"missing, for {count} other statement{'s' * (count > 1)}{advice}", lines)


def _listed(title: str, lines: list[str]) -> Folded:
    return Folded(title, (Points(tuple(lines), mark=""),))

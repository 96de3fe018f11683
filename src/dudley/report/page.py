"""A comparison as one HTML file: no network, no other file; it opens from disk and prints.

The curves are drawn by uPlot (vendored, inlined): hover for values, click a name to hide a curve.
Tables sort by their heads. Light or dark as the reader's system asks; prints in light.
"""

from __future__ import annotations

import json
from html import escape
from importlib import resources
from pathlib import Path

from dudley.core.provenance import provenance
from dudley.core.vocabulary import describe
from dudley.report import cells
from dudley.report.curves import Panel, panels
from dudley.report.figure import COLOURS
from dudley.report.files import written
from dudley.theorems.comparison import FORMS, KINDS, Comparison, Row


def write(comparison: Comparison, path: Path) -> None:
    """Write the page; nothing is left at ``path`` if anything fails."""
    text = html(comparison)
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def html(comparison: Comparison) -> str:
    """The whole page."""
    shown = {p.measure: p for p in panels(comparison)} if comparison.sweep else {}
    data = {
        "sweep": None
        if comparison.sweep is None
        else comparison.sweep.to_json() | {"meaning": describe(comparison.sweep.name)},
        "colours": COLOURS,
        "panels": [_panel(p) for p in shown.values()],
    }
    sections = [_section(comparison, m, rows, shown) for m, rows in comparison.groups.items()]
    parts = {
        "CSS": _asset("vendor/uPlot.min.css") + _asset("page.css"),
        "UPLOT": _asset("vendor/uPlot.iife.min.js"),
        "SCRIPT": _asset("page.js"),
        "DATA": json.dumps(data, allow_nan=False, ensure_ascii=False).replace("<", "\\u003c"),
        "SITUATION": _situation(comparison),
        "SECTIONS": "\n".join(sections) or "<p>No statement applies: see what is missing.</p>",
        "NOTES": _notes(comparison),
        "MADE": escape(f"dudley {provenance()['dudley']}"),
    }
    page = _asset("page.html")
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text)
    return page


def _asset(name: str) -> str:
    return (resources.files("dudley.report") / name).read_text(encoding="utf-8")


def _panel(panel: Panel) -> dict:
    return {
        "measure": panel.measure,
        "curves": [
            {
                "label": c.label,
                "form": c.form,
                "order": c.order,
                "y": c.log10,
                "below": c.below,
            }
            for c in panel.curves
        ],
        "levels": [{"label": level.label, "y": level.log10} for level in panel.levels],
        "crossings": [
            {"at": c.at, "label": f"{c.form}: {KINDS[c.kinds[0]]} give less | {KINDS[c.kinds[1]]}"}
            for c in panel.crossings
        ],
    }


def _situation(comparison: Comparison) -> str:
    swept = comparison.sweep.name if comparison.sweep else None
    given = [f"{n} = {v:g}" for n, v in comparison.situation.values.items() if n != swept]
    if comparison.sweep:
        x = comparison.points
        given.append(f"{swept} from {x[0]:g} to {x[-1]:g} in {len(x)} points")
    return "".join(f"<li>{escape(text)}</li>" for text in given)


def _section(comparison: Comparison, measure: str, rows: list[Row], shown: dict) -> str:
    forms = [form for form in FORMS if any(form in row.curves for row in rows)]
    heads = ["statement", "verdict", *forms]
    tells = comparison.sweep is not None and any(row.can_inform for row in rows)
    if comparison.sweep and tells:
        heads += [cells.informs(comparison)]
    top = "".join(f'<th scope="col"><button>{escape(head)}</button></th>' for head in heads)
    body = "\n".join(_row(comparison, row, forms, tells) for row in rows)
    place = list(shown).index(measure) if measure in shown else None
    chart = "" if place is None else f'<div class="chart" data-panel="{place}"></div>'
    return (
        f"<section><h2>{escape(measure)}</h2>{chart}"
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table>'
        "</div></section>"
    )


def _row(comparison: Comparison, row: Row, forms: list[str], tells: bool) -> str:
    s = row.statement
    found = [
        f'<td title="{escape(s.quantity)}">{escape(s.id)}</td>',
        f'<td class="{s.verdict.value}">{s.verdict.value}</td>',
    ]
    for form in forms:
        bounds = row.bounds(form)
        last = next((b for b in reversed(bounds) if b is not None), None)
        key = "" if last is None else f"{last.log_value:.12g}"
        why = escape(row.refusals.get(form, ""))
        text = escape(cells.cell(row, form))
        found.append(f'<td class="number" data-key="{key}" title="{why}">{text}</td>')
    if tells:
        i = row.informative_from("derived")
        key = "" if i is None else f"{comparison.points[i]:.12g}"
        text = cells.informative(comparison, row, "derived")
        found.append(f'<td class="number" data-key="{key}">{text}</td>')
    return f"<tr>{''.join(found)}</tr>"


def _notes(comparison: Comparison) -> str:
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
    return "\n".join(
        f"<details{' open' if title == 'Marks' else ''}>"
        f"<summary>{escape(title)} ({len(lines)})</summary>"
        f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul></details>"
        for title, lines in lists.items()
        if lines
    )

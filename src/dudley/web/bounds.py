"""Bounds at one point, or along an axis: what the library says, as the page needs it.

A page looks at one quantity: all bounds that can be turned into gaps, or what is bounded and of
what. It asks for the numbers at the point; then for the curves that it shows, at a few points
first. Which curves it shows at first is said with the numbers: no more than seven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dudley.core.bound import Bound
from dudley.core.errors import InputError, UnknownName
from dudley.core.norms import NORMS
from dudley.core.situation import Situation
from dudley.core.statement import Statement
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import SIZES, VOCABULARY, describe, known, parse_assignments
from dudley.networks.described import ID, MATRICES as OWNERS
from dudley.show.as_html import fragment
from dudley.show.document import Document
from dudley.show.figures.curves import Panel, panels
from dudley.show.pages import comparison as kind_pages, gaps as gap_pages
from dudley.theorems import registry
from dudley.theorems.by_form import ByForm
from dudley.theorems.comparison import FORMS, Comparison, applicable, compare
from dudley.theorems.gaps import GapRow, Gaps, gaps, kind_of
from dudley.theorems.order import in_reading_order
from dudley.web.attend import Visitor

CALCULUS = "calculus"
GAPS = "risk − training loss, all bounds"
MOST = 200  # points of an axis
FEW = 5  # points of a coarse one
SHOWN = 7  # curves at once
MATRICES = ("W", *OWNERS)
# name: from, to, at first; on a log scale. None at first: not given until it is switched on.
SLIDERS: dict[str, tuple[float, float, float | None]] = {
    "n": (1e2, 1e9, 1e5),
    "T": (2, 1e4, 128),
    "d": (2, 4096, 64),
    "k": (2, 4096, 64),
    "H": (1, 96, 1),
    "L": (1, 96, 1),
    "X.row2inf": (0.01, 100, 1),
    "W_QK.l11": (0.01, 1000, 2),
    "W_v.l11": (0.01, 1000, 1),
    "W_c.l11": (0.01, 1000, 1),
    "w.l1": (0.01, 1000, 1),
    "delta": (1e-6, 0.5, 0.05),
    "margin": (0.01, 10, 1),
    "epsilon": (1e-3, 10, 0.5),
    "loss.range": (0.01, 100, 1),
    "loss.lipschitz": (0.01, 100, None),
    "sigma.lipschitz": (0.1, 10, 1),
    "kappa": (0.01, 100, 1),
    "target.bound": (0.01, 100, 1),
    "V": (2, 1e6, None),
    "W_QK.op": (0.01, 1000, None),
    "W_v.op": (0.01, 1000, None),
    "W_c.op": (0.01, 1000, None),
    "w.l2": (0.01, 1000, None),
}


def sources() -> tuple[str, ...]:
    """The calculus, and every paper that has statements."""
    registry.load()
    return (CALCULUS, *registry.PAPERS)


def quantities() -> list[dict[str, str]]:
    """What can be looked at: all as gaps, then what is bounded and of what, by kind."""
    kinds = {s.heading: s.measure for s in in_reading_order()}
    return [{"name": GAPS, "kind": "as gaps"}] + [
        {"name": heading, "kind": kind} for heading, kind in kinds.items()
    ]


def settings() -> dict[str, Any]:
    """What the page must know before it asks: sliders, sources, forms, quantities, names."""
    norms = [f"{W}.{norm}" for W in MATRICES for norm in NORMS]
    named = [*VOCABULARY, *filter(known, norms)]
    return {
        "sliders": [
            {"name": name, "from": low, "to": high, "at": at, "whole": name in SIZES,
             "meaning": describe(name)}
            for name, (low, high, at) in SLIDERS.items()
        ],
        "sources": list(sources()),
        "forms": list(FORMS),
        "quantities": quantities(),
        "shown": SHOWN,
        "names": {name: describe(name) for name in named},
        "sizes": list(SIZES),
    }  # fmt: skip


@dataclass(frozen=True)
class View:
    """What is looked at: sources and forms, one quantity, and of its curves those named."""

    sources: tuple[str, ...] = ()
    forms: tuple[str, ...] = FORMS
    quantity: str = GAPS
    curves: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for source in self.sources:
            if source not in sources():
                raise InputError("source", " or ".join(sources()), source)
        names = [one["name"] for one in quantities()]
        if self.quantity not in names:
            raise UnknownName("quantity", self.quantity, names)
        if len(self.curves) > SHOWN:
            raise InputError("curve", f"at most {SHOWN} of them", len(self.curves))

    @property
    def papers(self) -> tuple[str, ...]:
        return tuple(source for source in self.sources if source != CALCULUS)

    def looks_at(self, s: Statement) -> bool:
        """Is a statement part of what is looked at?"""
        return s.heading == self.quantity

    def compared(
        self,
        values: dict[str, float],
        sweep: Sweep | None,
        visitor: Visitor,
        among: Sequence[str] | None = None,
    ) -> Gaps | Comparison:
        """What the library says, of these statements or of all that belong here."""
        if self.quantity == GAPS:
            here, network = Situation(values), CALCULUS in self.sources
            papers = self.papers
            ids = among if papers else [ID]
            return gaps(
                here, sweep, papers, self.forms, network=network, among=ids,
                evaluate=visitor.evaluate,
            )  # fmt: skip
        here = Situation(inputs_of_statements(values))
        if among is None:
            first = here if sweep is None else here.but(sweep.name, sweep.values[0])
            present = applicable(first, self.papers) if self.papers else []
            among = [s.id for s in present if self.looks_at(s)]
        papers = self.papers or tuple(registry.PAPERS)
        return compare(here, sweep, papers, self.forms, among=among, evaluate=visitor.evaluate)


def point(words: Sequence[str], view: View, visitor: Visitor) -> dict[str, Any]:
    """The bounds at one point: entries for programs, a table for people.

    ``picked`` names the curves to begin with; ``others`` the quantities about which more is known.
    """
    values = parse_assignments(list(words))
    result = view.compared(values, None, visitor)
    return {
        "entries": [one for row in result.rows for one in entries(row)],
        "picked": picked(result, values),
        "others": others(values, view),
        **texts(result),
    }


def others(values: dict[str, float], view: View) -> list[str]:
    """The quantities about which a statement of these papers says something here."""
    if not view.papers:
        return []
    present = applicable(Situation(inputs_of_statements(values)), view.papers)
    headings = {s.heading for s in present}
    return [one["name"] for one in quantities() if one["name"] in headings]


def texts(result: Gaps | Comparison) -> dict[str, str]:
    """The table and the notes, as HTML."""
    if isinstance(result, Gaps):
        above = (*gap_pages.setting(result), *gap_pages.ranking(result))
        below = gap_pages.notes(result)
    else:
        tables = [kind_pages.section(result, h, rows, None) for h, rows in result.groups.items()]
        above = tuple(block for one in tables for block in one.blocks)
        below = kind_pages.notes(result)
    return {
        "table": fragment(Document("", above))["html"],
        "notes": fragment(Document("", tuple(below)))["html"],
    }


def entries(row: ByForm) -> list[dict[str, Any]]:
    """Each form's number at the point, or why there is none."""
    of = row.subject if isinstance(row, GapRow) else ""
    numbers = []
    for form, (outcome,) in row.curves.items():
        about = {"name": f"{row.id} {form}", "of": of}
        if not isinstance(outcome, Bound):
            numbers.append(about | {"refused": outcome})
            continue
        record = outcome.to_json()
        numeric = {
            key: record[key] for key in ("value", "log_value", "vacuous", "quantity", "sense")
        }
        numbers.append(about | numeric)
    return numbers


def picked(result: Gaps | Comparison, values: dict[str, float]) -> list[str]:
    """The curves to begin with: what each statement proves, those of one's own class first."""
    rows: list[ByForm] = list(result.rows)
    if isinstance(result, Gaps):
        class_here = kind_of(Situation(values))
        own_first = sorted(result.rows, key=lambda row: row.subject != class_here)
        rows = list(own_first)
    proved = [f"{row.id} {form}" for row in rows if (form := _proved(row))]
    rest = [f"{row.id} {form}" for row in rows for form in row.curves if row.bounds(form)[0]]
    return list(dict.fromkeys(proved + rest))[:SHOWN]


def _proved(row: ByForm) -> str:
    """The form with the smallest proved number at the point; empty where there is none."""
    bounds = {form: row.bounds(form)[0] for form in ("derived", "best") if form in row.curves}
    known_forms = {form: b.log_value for form, b in bounds.items() if b is not None}
    return min(known_forms, key=lambda form: known_forms[form]) if known_forms else ""


def curves(
    words: Sequence[str], axis: str, view: View, visitor: Visitor, coarse: bool = False
) -> dict[str, Any]:
    """The curves that are shown, along an axis: one chart, or none where nothing is known.

    Where none is named, since the point lacks what the axis gives, they are picked half-way.
    """
    values, sweep = parse_assignments(list(words)), Sweep.parse(axis)
    if len(sweep.values) > MOST:
        raise InputError(f"sweep of {sweep.name}", f"at most {MOST} points", len(sweep.values))
    if coarse:
        few = np.unique(np.linspace(0, len(sweep.values) - 1, FEW).round().astype(int))
        sweep = replace(sweep, values=tuple(sweep.values[i] for i in few))
    names = view.curves
    if not names:
        here = {**values, sweep.name: sweep.values[len(sweep.values) // 2]}
        names = tuple(picked(view.compared(here, None, visitor), here))
    among = {name.partition(" ")[0] for name in names}
    result = view.compared({**values, sweep.name: sweep.values[0]}, sweep, visitor, sorted(among))
    panel = shown(panels(result), names)
    if panel is None:
        return {"chart": None}
    drawn = fragment(Document("", (kind_pages.chart(sweep, panel),)))["charts"][0]
    return {"chart": {**drawn, "names": [f"{c.id} {c.form}" for c in panel.curves]}}


def shown(drawn: Sequence[Panel], names: Sequence[str]) -> Panel | None:
    """One panel with the curves of these names, each with a colour and a marker of its own."""
    by_name = {f"{c.id} {c.form}": c for panel in drawn for c in panel.curves}
    chosen = [replace(by_name[n], order=i) for i, n in enumerate(names) if n in by_name]
    if not chosen:
        return None
    levels = {(level.label, level.log10): level for panel in drawn for level in panel.levels}
    ids = {c.id for c in chosen}
    crossings = [c for panel in drawn for c in panel.crossings if c.id in ids]
    return Panel("", tuple(chosen), tuple(levels.values()), tuple(crossings))


def inputs_of_statements(values: dict[str, float]) -> dict[str, float]:
    """The inputs of statements: all values but the margin, which only gaps read."""
    return {name: value for name, value in values.items() if name != "margin"}

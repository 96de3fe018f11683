"""Bounds at one point, or along an axis: what `compare` and the calculus say, as the page needs it.

A page asks for what it shows: the numbers of one kind of quantity at the point, and of the one
statement that it follows; then its curves, at a few points first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dudley.core.errors import InputError, UnknownName
from dudley.core.norms import NORMS
from dudley.core.situation import Situation
from dudley.core.statement import MEASURES, Statement
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import SIZES, VOCABULARY, describe, known, parse_assignments
from dudley.show.as_html import fragment
from dudley.show.document import Document
from dudley.show.figures.curves import panels
from dudley.show.pages.comparison import chart, notes, section
from dudley.theorems import registry
from dudley.theorems.comparison import FORMS, applicable, compare
from dudley.web import calculus
from dudley.web.attend import Visitor

MOST = 200  # points of an axis
FEW = 5  # points of a coarse one
MATRICES = ("W", *calculus.MATRICES)
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
    return (calculus.NAME, *registry.PAPERS)


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
        "measures": list(MEASURES),
        "calculus": calculus.NAME,
        "names": {name: describe(name) for name in named},
        "sizes": list(SIZES),
    }  # fmt: skip


@dataclass(frozen=True)
class View:
    """What is looked at: sources and forms; one kind of quantity, and one statement besides.

    Without a ``measure`` it is every kind. ``follow`` is the id of a statement, or `calculus/gap`.
    """

    sources: tuple[str, ...] = ()
    forms: tuple[str, ...] = FORMS
    measure: str | None = None
    follow: str | None = None

    def __post_init__(self) -> None:
        for source in self.sources:
            if source not in sources():
                raise InputError("source", " or ".join(sources()), source)
        if self.measure is not None and self.measure not in MEASURES:
            raise UnknownName("measure", self.measure, MEASURES)

    @property
    def papers(self) -> tuple[str, ...]:
        return tuple(source for source in self.sources if source != calculus.NAME)

    @property
    def with_network(self) -> bool:
        """Is the network of the calculus among what is looked at?"""
        seen = self.measure in (None, calculus.MEASURE) or self.follow == calculus.ID
        return calculus.NAME in self.sources and seen

    def shows(self, s: Statement) -> bool:
        return self.measure in (None, s.measure) or s.id == self.follow


def point(words: Sequence[str], view: View, visitor: Visitor) -> dict[str, Any]:
    """The bounds at one point: rows for programs, tables by kind of quantity for people.

    ``entries`` names whatever applies, looked at or not.
    """
    values = parse_assignments(list(words))
    network = calculus.at(values) if view.with_network else None
    entries = _network_entries(view)
    if not view.papers:
        return {"entries": entries, "rows": [], "tables": {}, "network": network, "notes": ""}
    here = Situation(_inputs_of_statements(values))
    present = applicable(here, view.papers)
    among = [s.id for s in present if view.shows(s)]
    comparison = compare(
        here, None, view.papers, view.forms, among=among, evaluate=visitor.evaluate
    )
    tables = {
        heading: fragment(Document("", section(comparison, heading, rows, None).blocks))["html"]
        for heading, rows in comparison.groups.items()
        if view.measure in (None, rows[0].statement.measure)
    }
    entries += [
        {"id": s.id, "form": form, "measure": s.measure}
        for s in present
        for form in s.forms
        if form in view.forms
    ]
    after = fragment(Document("", tuple(notes(comparison))))["html"]
    return {
        "entries": entries,
        "rows": comparison.to_json()["rows"],
        "tables": tables,
        "network": network,
        "notes": after,
    }


def curves(
    words: Sequence[str], axis: str, view: View, visitor: Visitor, coarse: bool = False
) -> dict[str, Any]:
    """The calculus or papers along an axis: a chart for each kind of quantity that moves."""
    values, sweep = parse_assignments(list(words)), Sweep.parse(axis)
    if len(sweep.values) > MOST:
        raise InputError(f"sweep of {sweep.name}", f"at most {MOST} points", len(sweep.values))
    if coarse:
        few = np.unique(np.linspace(0, len(sweep.values) - 1, FEW).round().astype(int))
        sweep = replace(sweep, values=tuple(sweep.values[i] for i in few))
    if view.sources == (calculus.NAME,):
        return {"charts": calculus.along(values, sweep, visitor)}
    if calculus.NAME in view.sources:
        raise InputError("source", "the calculus alone, or papers, where there is a sweep", "both")
    here = Situation(_inputs_of_statements(values) | {sweep.name: sweep.values[0]})
    among = [s.id for s in applicable(here, view.papers) if view.shows(s)]
    comparison = compare(
        here, sweep, view.papers, view.forms, among=among, evaluate=visitor.evaluate
    )
    shown = [p for p in panels(comparison) if view.measure in (None, p.measure)]
    charts = fragment(Document("", tuple(chart(comparison, p) for p in shown)))["charts"]
    return {"charts": {p.measure: drawn for p, drawn in zip(shown, charts, strict=True)}}


def _network_entries(view: View) -> list[dict[str, str]]:
    if calculus.NAME not in view.sources:
        return []
    return [{"id": calculus.ID, "form": "derived", "measure": calculus.MEASURE}]


def _inputs_of_statements(values: dict[str, float]) -> dict[str, float]:
    """The inputs of statements: all values but the margin, which only the calculus reads."""
    return {name: value for name, value in values.items() if name != "margin"}

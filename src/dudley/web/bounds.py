"""Bounds at one point, or along an axis: what `compare` and the calculus say, as the page needs it.

A move asks for the point (a table of numbers), then for the curves source by source, so that a
further move need not wait for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dudley.core.errors import InputError
from dudley.core.norms import NORMS
from dudley.core.statement import MEASURES
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import SIZES, VOCABULARY, describe, known, parse_assignments
from dudley.show.as_html import fragment
from dudley.show.document import Document
from dudley.show.figures.curves import panels
from dudley.show.pages.comparison import chart, notes, section
from dudley.theorems import registry
from dudley.theorems.comparison import FORMS, compare
from dudley.web import calculus

MOST = 200  # points of an axis
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
        "names": {name: describe(name) for name in named},
        "sizes": list(SIZES),
    }  # fmt: skip


def point(
    words: Sequence[str], chosen: Sequence[str] = (), forms: Sequence[str] = FORMS
) -> dict[str, Any]:
    """Every bound at one point: rows for programs, tables by kind of quantity for people."""
    chosen = chosen or sources()
    values, papers = parse_assignments(list(words)), _papers(chosen)
    network = calculus.at(values) if calculus.NAME in chosen else None
    if not papers:
        return {"rows": [], "tables": {}, "network": network, "notes": ""}
    comparison = compare(_inputs_of_statements(values), None, papers, tuple(forms))
    tables = {
        measure: fragment(Document("", section(comparison, measure, rows, None).blocks))["html"]
        for measure, rows in comparison.groups.items()
    }
    after = fragment(Document("", tuple(notes(comparison))))["html"]
    return {
        "rows": comparison.to_json()["rows"],
        "tables": tables,
        "network": network,
        "notes": after,
    }


def curves(
    words: Sequence[str], axis: str, source: str, forms: Sequence[str] = FORMS
) -> dict[str, Any]:
    """One source along an axis: a chart for each kind of quantity that moves."""
    values, sweep = parse_assignments(list(words)), Sweep.parse(axis)
    if len(sweep.values) > MOST:
        raise InputError(f"sweep of {sweep.name}", f"at most {MOST} points", len(sweep.values))
    if source == calculus.NAME:
        return {"charts": calculus.along(values, sweep)}
    papers = _papers([source])
    comparison = compare(_inputs_of_statements(values), sweep, papers, tuple(forms))
    drawn = {p.measure: chart(comparison, p) for p in panels(comparison)} if comparison.rows else {}
    charts = fragment(Document("", tuple(drawn.values())))["charts"]
    return {"charts": dict(zip(drawn, charts, strict=True))}


def _papers(chosen: Sequence[str]) -> tuple[str, ...]:
    known = sources()
    for source in chosen:
        if source not in known:
            raise InputError("source", " or ".join(known), source)
    return tuple(source for source in chosen if source != calculus.NAME)


def _inputs_of_statements(values: dict[str, float]) -> dict[str, float]:
    """The inputs of statements: all values but the margin, which only the calculus reads."""
    return {name: value for name, value in values.items() if name != "margin"}

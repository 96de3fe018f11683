"""Gaps: every bound that can be turned into risk − training loss, at one's own numbers, best first.

The loss is the ramp at ``margin`` where that is given, and otherwise ``loss.lipschitz``-Lipschitz
with values in [0, ``loss.range``] (1 and 1 where they are not given); ``delta`` is 0.05 unless
given. The resolution of a cover is chosen by the conversion (:mod:`dudley.theorems.conversion`).
Where the situation describes a network (:mod:`dudley.networks.described`), the calculus' own gap
stands among them.

>>> here = {"n": 1e7, "T": 16, "d": 8, "k": 8, "X.row2inf": 1.0, "W_QK.l11": 2.0, "W_v.l11": 1.0,
...         "W_c.l11": 1.0, "w.l1": 1.0, "sigma.lipschitz": 1.0, "L": 1}
>>> ranked = gaps(here)
>>> [row.id for row in ranked.rows if row.subject == "one head"][:3]
['calculus/gap', 'li2026/equation-14', 'trauger2024/corollary-4.1.1']
>>> ranked.row("calculus/gap").bounds("derived")[0].holds
'with probability at least 0.95 over the sample'
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dudley.calculus.memory import sweeping
from dudley.core.errors import InputError, UnknownName
from dudley.core.shown import Shown
from dudley.core.situation import Situation
from dudley.core.statement import Statement
from dudley.core.sweep import Sweep
from dudley.networks.described import DELTA, ID as NETWORK, gaps_of
from dudley.theorems.by_form import BoundOrReason, ByForm
from dudley.theorems.comparison import (
    FORMS,
    Evaluator,
    inputs_of,
    lacking,
    not_this,
    outcome,
    point_json,
    statements_of,
)
from dudley.theorems.conversion import (
    GAP,
    OWN_LOSS,
    Conversion,
    GapTask,
    as_gap,
    conversion_of,
)


@dataclass(frozen=True)
class GapRow(ByForm):
    """One bound as a gap: of which class, and how it was converted."""

    id: str
    subject: str
    standing: str
    false: bool
    conversion: Conversion
    curves: Mapping[str, tuple[BoundOrReason, ...]]
    unmoved: frozenset[str] = frozenset()

    def informative_from(self, form: str) -> int | None:
        """The first point at which a form says something."""
        useful = (i for i, b in enumerate(self.bounds(form)) if b is not None and not b.vacuous)
        return next(useful, None)

    @property
    def least(self) -> float:
        """The log of the smallest proved number at the last point; infinite where there is none."""
        forms = [form for form in ("derived", "best") if form in self.curves] or list(self.curves)
        lasts = [self.bounds(form)[-1] for form in forms]
        return min((b.log_value for b in lasts if b is not None), default=math.inf)


@dataclass(frozen=True)
class Gaps(Shown):
    """Every bound as a gap, best first; what was not converted and why; what lacks inputs."""

    situation: Situation
    sweep: Sweep | None
    task: GapTask
    rows: tuple[GapRow, ...]
    unconverted: Mapping[str, str]
    missing: Mapping[str, tuple[str, ...]]
    shown_as: ClassVar[str] = "gaps"

    def row(self, id: str) -> GapRow:
        """One bound's row."""
        for row in self.rows:
            if row.id == id:
                return row
        raise UnknownName("bound that was converted", id, [row.id for row in self.rows])

    @property
    def groups(self) -> dict[str, list[GapRow]]:
        """The rows by class, best first; the class with the best of all comes first."""
        groups: dict[str, list[GapRow]] = {}
        for row in self.rows:
            groups.setdefault(f"{GAP} of {row.subject}", []).append(row)
        return groups

    @property
    def points(self) -> tuple[float, ...]:
        """The values of the swept name; empty without a sweep."""
        return self.sweep.values if self.sweep else ()

    @property
    def loss(self) -> str:
        """The loss in words, and where its numbers are from."""
        values = self.situation.values
        if "margin" in values:
            return f"the ramp at margin {values['margin']:g}, which is at least the error"
        taken = [name for name in ("loss.lipschitz", "loss.range") if name not in values]
        words = f"a {self.task.lipschitz:g}-Lipschitz loss in [0, {self.task.range:g}]"
        return words + (f" ({' and '.join(taken)} taken as 1)" if taken else "")

    def to_json(self) -> dict[str, Any]:
        """Plain data; a number that is not a finite float is null."""
        task = self.task
        return {
            "situation": dict(self.situation.values),
            "sweep": None if self.sweep is None else self.sweep.to_json(),
            "delta": task.delta,
            "loss": {"lipschitz": task.lipschitz, "range": task.range, "is": self.loss},
            "rows": [_row_json(row) for row in self.rows],
            "unconverted": dict(self.unconverted),
            "missing": {id: list(names) for id, names in self.missing.items()},
        }


def _row_json(row: GapRow) -> dict[str, Any]:
    forms = {
        form: [{"refused": o} if isinstance(o, str) else point_json(o) for o in outcomes]
        for form, outcomes in row.curves.items()
    }
    senses = {
        form: next((b.holds for b in row.bounds(form) if b is not None), "") for form in row.curves
    }
    how = {"how": row.conversion.how, "assumption": row.conversion.assumption}
    head = {"id": row.id, "standing": row.standing, "measure": GAP, "of": row.subject}
    unmoved = [form for form in forms if form in row.unmoved]
    return head | how | {"senses": senses, "forms": forms, "unmoved": unmoved}


def gaps(
    situation: Situation | Mapping[str, float],
    sweep: Sweep | str | None = None,
    papers: tuple[str, ...] = (),
    forms: tuple[str, ...] = FORMS,
    *,
    network: bool = True,
    among: Iterable[str] | None = None,
    evaluate: Evaluator = outcome,
) -> Gaps:
    """Every bound whose inputs are given, or follow, as risk − training loss, best first.

    The arguments are those of :func:`~dudley.theorems.comparison.compare`; ``network`` says whether
    the calculus' own gap is wanted.
    """
    if not isinstance(situation, Situation):
        situation = Situation(situation)
    axis = Sweep.parse(sweep) if isinstance(sweep, str) else sweep
    for form in forms:
        if form not in FORMS:
            raise UnknownName("form", form, FORMS)
    points = [situation] if axis is None else [situation.but(axis.name, x) for x in axis.values]
    if "n" not in points[0].values:
        raise InputError("gap", "n, the number of examples", "none", "add n=1e5, or --sweep n=…")
    wanted = None if among is None else set(among)
    losses = [at_loss(point) for point in points]
    missing, unconverted, rows = {}, {}, []
    with sweeping([point.values["n"] for point in points]):
        if network and (wanted is None or NETWORK in wanted):
            rows += _network_row(points, unconverted)
        for s in statements_of(papers):
            conversion, names = conversion_of(s), lacking(s, losses[0][0])
            if isinstance(conversion, str):
                unconverted |= {} if names else {s.id: conversion}
            elif names:
                missing[s.id] = names
            elif wanted is None or s.id in wanted:
                rows.append(_row(s, conversion, points, losses, forms, evaluate))
    rows.sort(key=lambda row: row.least)
    return Gaps(points[0], axis, losses[0][1], tuple(rows), unconverted, missing)


def at_loss(point: Situation) -> tuple[Situation, GapTask]:
    """A situation with its loss and δ filled in, as statements read them, and what they are.

    >>> here, task = at_loss(Situation({"n": 100, "margin": 0.5}))
    >>> here.values["loss.lipschitz"], task.range, task.delta
    (2.0, 1.0, 0.05)
    """
    values = dict(point.values)
    margin = values.pop("margin", None)
    L = values.get("loss.lipschitz", 1.0) if margin is None else 1 / margin
    b = values.get("loss.range", 1.0) if margin is None else 1.0
    for name, size in (("loss.lipschitz", L), ("loss.range", b)):
        if size <= 0:
            raise InputError(name, "a number > 0", size)
    values = {"delta": DELTA, "epsilon": 1.0, "loss.bound": b / 2} | values
    values |= {"loss.lipschitz": L, "loss.range": b}
    return Situation(values), GapTask(values["n"], values["delta"], L, b)


def _network_row(points: Sequence[Situation], unconverted: dict[str, str]) -> list[GapRow]:
    """The calculus' own gap, where the situation describes a network."""
    outcomes = gaps_of([point.values for point in points])
    if all(isinstance(one, str) for one in outcomes):
        unconverted[NETWORK] = str(outcomes[0])
        return []
    how = Conversion("as it stands")
    return [GapRow(NETWORK, kind_of(points[-1]), "proved", False, how, {"derived": outcomes})]


def kind_of(point: Situation) -> str:
    """The class of the network that a situation describes, as statements name theirs."""
    layers, heads = (point.values.get(name, 1) for name in ("L", "H"))
    return "L layers" if layers > 1 else "H heads" if heads > 1 else "one head"


def _row(
    s: Statement,
    conversion: Conversion,
    points: Sequence[Situation],
    losses: Sequence[tuple[Situation, GapTask]],
    forms: Sequence[str],
    evaluate: Evaluator,
) -> GapRow:
    """A statement's forms as gaps, along the axis."""
    outcomes: dict[str, list[BoundOrReason]] = {f: [] for f in s.forms if f in forms}
    known: dict[str, dict[tuple, BoundOrReason]] = {form: {} for form in outcomes}
    for point, (here, task) in zip(points, losses, strict=True):
        values, reason = inputs_of(s, here), not_this(s, here)
        if s.subject == OWN_LOSS and "loss.range" in point.values:
            b = point.values["loss.range"]
            values, task = {**values, "loss.range": b}, replace(task, range=b)
        for form, curve in outcomes.items():
            key = (task, reason, *sorted(s.form(form).select(values).items()))
            if key not in known[form]:
                known[form][key] = reason or as_gap(s, values, form, task, evaluate)
            curve.append(known[form][key])
    curves = {form: tuple(curve) for form, curve in outcomes.items()}
    swept = len(points) > 1
    unmoved = frozenset(form for form, keys in known.items() if swept and len(keys) == 1)
    standing, false = s.standing, s.verdict.is_false
    return GapRow(s.id, s.subject, standing, false, conversion, curves, unmoved)

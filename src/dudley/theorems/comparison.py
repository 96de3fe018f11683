"""Compare: every statement on one situation, side by side, along an axis if one is swept.

A statement is evaluated where all its inputs are given, derivable (:mod:`dudley.core.situation`)
or have a default of its own; for the others the comparison says what is missing. Nothing is
ranked across kinds: a covering number of one class is set beside covering numbers of that class.
(:mod:`dudley.theorems.gaps` turns what can be turned into one kind, and ranks that.)

>>> from dudley.core.situation import Situation
>>> here = Situation({"d": 64, "k": 64, "n": 1e5, "W.l11": 3.0, "X.row2inf": 1.0, "epsilon": 0.5})
>>> both = compare(here, sweep="n=1e3:1e6:log4")
>>> row = both.row("trauger2024/section-2.5")
>>> [f"{bound.value:.3g}" for bound in row.curves["derived"]]
['3', '2.62', '1.05', '0.342']
>>> compare(here).missing["edelman2021/definition-3.2"]
('W_v.op', 'W_c.op')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from dudley.calculus.memory import sweeping
from dudley.core.bound import Bound
from dudley.core.errors import DudleyError, UnknownName
from dudley.core.shown import Shown
from dudley.core.situation import Derived, Situation, canonical, closed
from dudley.core.statement import MEASURES, Statement
from dudley.core.sweep import Sweep
from dudley.core.vocabulary import GIVEN
from dudley.theorems import registry
from dudley.theorems.by_form import BoundOrReason, ByForm
from dudley.theorems.order import reading_order

FORMS = ("printed", "derived", "best")
SCALED_TO_ONE = ("excess risk", "risk − training loss", "Rademacher complexity")
Evaluator = Callable[[Statement, Mapping[str, float], str], BoundOrReason]


@dataclass(frozen=True)
class ComparisonRow(ByForm):
    """One statement along the axis."""

    statement: Statement
    curves: Mapping[str, tuple[BoundOrReason, ...]]
    unmoved: frozenset[str] = frozenset()

    @property
    def id(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.statement.id

    @property
    def standing(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.statement.standing

    @property
    def can_inform(self) -> bool:
        """Is there something to be below: a trivial bound, or 1 for what is scaled to it?"""
        trivial = any(b is not None and b.trivial < math.inf for b in self.bounds("derived"))
        return trivial or self.statement.measure in SCALED_TO_ONE

    def informative_from(self, form: str) -> int | None:
        """The first point at which a bound is below what holds without theory (or below 1)."""
        for i, bound in enumerate(self.bounds(form) if self.can_inform else ()):
            if bound is None or bound.vacuous:
                continue
            if bound.value < (bound.trivial if bound.trivial < math.inf else 1.0):
                return i
        return None


@dataclass(frozen=True)
class Crossing:
    """Where two kinds of one statement change places along the axis."""

    id: str
    form: str
    kinds: tuple[str, str]  # the smaller one before, and after
    at: float


@dataclass(frozen=True)
class Comparison(Shown):
    """What every applicable statement gives, what was derived for them, what others miss."""

    situation: Situation
    sweep: Sweep | None
    rows: tuple[ComparisonRow, ...]
    missing: Mapping[str, tuple[str, ...]]
    derived: Mapping[str, Derived]
    unused: tuple[str, ...]
    shown_as: ClassVar[str] = "comparison"

    def row(self, id: str) -> ComparisonRow:
        """One statement's row."""
        for row in self.rows:
            if row.id == id:
                return row
        raise UnknownName("statement that applies here", id, [row.id for row in self.rows])

    @property
    def points(self) -> tuple[float, ...]:
        """The values of the swept name; empty without a sweep."""
        return self.sweep.values if self.sweep else ()

    @property
    def groups(self) -> dict[str, list[ComparisonRow]]:
        """The rows by what they bound, and of what; kinds of quantity in a fixed order."""
        groups: dict[str, list[ComparisonRow]] = {}
        for row in sorted(self.rows, key=lambda row: MEASURES.index(row.statement.measure)):
            groups.setdefault(row.statement.heading, []).append(row)
        return groups

    @property
    def readings(self) -> dict[str, dict[str, list[str]]]:
        """Given names that statements read in different ways: name → meaning → statements."""
        texts_of: dict[str, dict[str, list[str]]] = {}
        for row in self.rows:
            for i in row.statement.inputs:
                if i.name in self.situation.values and (i.name in GIVEN or i.name[:2] == "W."):
                    texts_of.setdefault(i.name, {}).setdefault(i.text, []).append(row.id)
        return {name: texts for name, texts in texts_of.items() if len(texts) > 1}

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where parameter counting and norm-based bounds change places along the axis."""
        every = ((row, form) for row in self.rows for form in row.curves)
        return tuple(c for row, form in every for c in self._crossings(row, form))

    def _crossings(self, row: ComparisonRow, form: str) -> Iterator[Crossing]:
        known = [
            (x, {kind: b.details[kind] for kind in KINDS})
            for x, b in zip(self.points, row.bounds(form), strict=False)
            if b is not None and all(kind in b.details for kind in KINDS)
        ]
        for (x, kinds), (y, next_kinds) in pairwise(known):
            before, after = _lead(kinds), _lead(next_kinds)
            if before * after < 0:
                first, second = KINDS if before < 0 else reversed(KINDS)
                share = before / (before - after)
                log = self.sweep is not None and self.sweep.log
                at = x * (y / x) ** share if log else x + share * (y - x)
                yield Crossing(row.id, form, (first, second), at)

    def to_json(self) -> dict:
        """Plain data; a number that is not a finite float is null."""
        return {
            "situation": dict(self.situation.values),
            "sweep": None if self.sweep is None else self.sweep.to_json(),
            "rows": [self._row_json(row) for row in self.rows],
            "missing": {id: list(names) for id, names in self.missing.items()},
            "derived": {
                d.name: {"value": d.value, "from": list(d.sources)} for d in self.derived.values()
            },
            "unused": list(self.unused),
            "readings": self.readings,
            "crossings": [
                {"id": c.id, "form": c.form, "before": c.kinds[0], "after": c.kinds[1], "at": c.at}
                for c in self.crossings
            ],
        }

    def _row_json(self, row: ComparisonRow) -> dict:
        s = row.statement
        forms = {
            form: [{"refused": o} if isinstance(o, str) else point_json(o) for o in outcomes]
            for form, outcomes in row.curves.items()
        }
        senses = {form: f.sense.value for form, f in s.forms.items() if form in forms}
        head = {"id": s.id, "verdict": s.verdict_json, "measure": s.measure, "of": s.subject}
        unmoved = [form for form in forms if form in row.unmoved]
        return head | {
            "quantity": s.quantity,
            "senses": senses,
            "forms": forms,
            "unmoved": unmoved,
        }


# As section 2.5 of trauger2024 tells bounds apart: names of details, and words for them.
KINDS = {"parameter_counting": "parameter counting", "norm_based": "norms"}


def _lead(kinds: Mapping[str, float]) -> float:
    """log of the first kind over the second: negative where the first is smaller."""
    first, second = (kinds[kind] for kind in KINDS)
    return math.log(first) - math.log(second) if first > 0 and second > 0 else 0.0


def point_json(bound: Bound) -> dict:
    """A bound's numbers as plain data."""
    whole = bound.to_json()
    names = ("value", "log_value", "vacuous", "negative", "trivial")
    kinds = {kind: bound.details[kind] for kind in KINDS if kind in bound.details}
    return {name: whole[name] for name in names} | kinds


def outcome(s: Statement, values: Mapping[str, float], form: str) -> BoundOrReason:
    """One form of a statement on its inputs, or why it is refused."""
    try:
        return s.evaluate_on(values, form)
    except DudleyError as refusal:
        return str(refusal)


def compare(
    situation: Situation | Mapping[str, float],
    sweep: Sweep | str | None = None,
    papers: tuple[str, ...] = (),
    forms: tuple[str, ...] = FORMS,
    *,
    among: Iterable[str] | None = None,
    evaluate: Evaluator = outcome,
) -> Comparison:
    """Every statement whose inputs are given or follow, on one situation or along an axis.

    ``sweep`` is a :class:`Sweep` or its text, such as ``n=1e3:1e9:log40``; ``papers``, ``forms``
    and ``among`` (ids) narrow what is evaluated. ``evaluate`` is asked for every number, by a
    statement, its inputs and a form: it may remember, or stop.
    """
    if not isinstance(situation, Situation):
        situation = Situation(situation)
    axis = Sweep.parse(sweep) if isinstance(sweep, str) else sweep
    for form in forms:
        if form not in FORMS:
            raise UnknownName("form", form, FORMS)
    here = [situation] if axis is None else [situation.but(axis.name, x) for x in axis.values]
    statements = statements_of(papers)
    missing = {s.id: names for s in statements if (names := lacking(s, here[0]))}
    wanted = None if among is None else set(among)
    curves = [
        _Curves(s, forms, evaluate)
        for s in statements
        if s.id not in missing and (wanted is None or s.id in wanted)
    ]
    with sweeping([one.values["n"] for one in here if "n" in one.values] or [1]):
        for point in here:  # all statements at one before the next: many speak of one network
            for curve in curves:
                curve.extend(point)
    rows = tuple(ComparisonRow(c.statement, c.outcomes, c.unmoved(axis)) for c in curves)
    followed = _followed(here[0], rows)
    inputs = {canonical(i.name) for s in statements for i in s.inputs}
    inputs |= {canonical(source) for one in followed.values() for source in one.sources}
    unused = tuple(name for name in here[0].values if canonical(name) not in inputs)
    return Comparison(here[0], axis, rows, missing, followed, unused)


def applicable(situation: Situation, papers: tuple[str, ...] = ()) -> list[Statement]:
    """The statements whose inputs are all given, or follow, in the order of reading.

    >>> here = Situation({"n": 100, "d": 4, "class.C": 1.0, "class.radius": 1.0})
    >>> [s.id for s in applicable(here, ("trauger2024",))]
    ['trauger2024/equation-2.4']
    """
    return [s for s in statements_of(papers) if not lacking(s, situation)]


def lacking(s: Statement, situation: Situation) -> tuple[str, ...]:
    """The inputs of a statement that are neither given nor follow, nor have a default."""
    return tuple(i.name for i in s.inputs if i.default is None and situation.find(i.name) is None)


def statements_of(papers: tuple[str, ...]) -> list[Statement]:
    """The statements of these papers (all, if none is named), in the order of reading."""
    for paper in papers:
        registry.expect_paper(paper)
    every = [s for _, s in registry.load().items() if not papers or s.paper in papers]
    return sorted(every, key=lambda s: reading_order(s.id))


def _followed(here: Situation, rows: Sequence[ComparisonRow]) -> dict[str, Derived]:
    """What was derived for these statements, by the names they use."""
    names = {name for row in rows for name in inputs_of(row.statement, here)}
    return {name: here.derivation(name) for name in sorted(names) if not here.gives(name)}


def inputs_of(s: Statement, here: Situation) -> dict[str, float]:
    """A statement's inputs in a situation: what is given, or follows and is of use.

    A norm that the statement can do without is passed on only where it says more than the norms
    that the statement has anyway: a class described twice has fewer covers by its own members.
    """
    inputs = {i.name: v for i in s.inputs if (v := here.find(i.name)) is not None}
    for i in s.inputs:
        if i.default == math.inf and i.name in inputs and not here.gives(i.name):
            others = {n: v for n, v in inputs.items() if n != i.name and _same(n, i.name)}
            sizes = {n: here.values[n] for n in ("d", "k", "T") if n in here.values}
            implied = closed({canonical(n): v for n, v in (others | sizes).items()})
            if not inputs[i.name] < implied.get(canonical(i.name), math.inf):
                del inputs[i.name]
    return inputs


def _same(name: str, other: str) -> bool:
    """Are these norms of one matrix?"""
    return canonical(name).partition(".")[0] == canonical(other).partition(".")[0]


class _Curves:
    """The forms of one statement along the axis, as far as it was walked.

    Where a form's own inputs do not change it is evaluated once.
    """

    def __init__(self, s: Statement, forms: Sequence[str], evaluate: Evaluator) -> None:
        self.statement, self.evaluate = s, evaluate
        self._outcomes: dict[str, list[BoundOrReason]] = {f: [] for f in s.forms if f in forms}
        self._known: dict[tuple, BoundOrReason] = {}
        self._inputs: dict[str, set[tuple]] = {f: set() for f in self._outcomes}

    def extend(self, here: Situation) -> None:
        """One more point of the axis."""
        s = self.statement
        values, reason = inputs_of(s, here), not_this(s, here)
        for form, outcomes in self._outcomes.items():
            key = (form, reason, *sorted(s.form(form).select(values).items()))
            if key not in self._known:
                self._known[key] = reason or self.evaluate(s, values, form)
            outcomes.append(self._known[key])
            self._inputs[form].add(key)

    def unmoved(self, axis: Sweep | None) -> frozenset[str]:
        """The forms whose inputs were the same at every point of an axis."""
        if axis is None or len(axis.values) < 2:
            return frozenset()
        return frozenset(form for form, keys in self._inputs.items() if len(keys) == 1)

    @property
    def outcomes(self) -> dict[str, tuple[BoundOrReason, ...]]:
        """What each form gave, from point to point."""
        return {form: tuple(outcomes) for form, outcomes in self._outcomes.items()}


def not_this(s: Statement, here: Situation) -> str:
    """Why a statement does not speak of this situation, if it does not."""
    names = {i.name for i in s.inputs}
    square = "d" in names and "k" not in names
    values = any(name.startswith(("W_v.", "W_c.")) for name in names)
    d, k = here.values.get("d", math.inf), here.values.get("k", 0)
    return f"takes k = d, and k = {k:g} is more" if square and values and k > d else ""

"""Judge: what a true lower bound says about each form of a statement.

A derived or best form below it is *broken*: a bug of ours. A printed form below it is *refuted*;
where the paper hides a constant, only a family of instances whose ratio diverges refutes. A
definition or an assumption claims nothing, so an instance *violates* it instead. A verdict *false*
that nothing refutes is *not reproduced*. The ratio lower bound/claimed says how far a form that
stands could still be sharpened.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from dudley.audit.base import AttackFinding
from dudley.audit.terms import TestedTerm, term_of
from dudley.core.bound import Sense
from dudley.core.errors import InputError
from dudley.core.statement import Statement
from dudley.theorems import registry
from dudley.theorems.witness.base import Family

ROUNDING = 1e-12


class Outcome(Enum):
    """What became of one form of one statement."""

    BROKEN = "broken"
    REFUTED = "refuted"
    VIOLATED = "violated"
    NOT_REPRODUCED = "not reproduced"
    STANDS = "stands"
    CONSTANT = "up to a constant"


@dataclass(frozen=True)
class Judgement:
    """What one attack says about one form of a statement."""

    statement: str
    form: str
    attack: str
    method: str
    δ: float
    inputs: Mapping[str, float]
    lower: float
    claimed: float | None  # null where it leaves the floats
    ratio: float | None  # lower/claimed; null where the claim is not positive
    vacuous: bool  # the claim says nothing there: at the trivial bound, or below zero
    term: str  # the part of the bound that the instance tests
    reach: float | None  # the share of that part which the truth needs; null as the ratio
    outcome: Outcome

    @property
    def strength(self) -> tuple[bool, float]:
        """What makes one attack stronger than another: it decides, then the ratio."""
        decided = self.outcome in (Outcome.BROKEN, Outcome.REFUTED, Outcome.VIOLATED)
        return decided, math.inf if self.ratio is None else self.ratio

    @property
    def power(self) -> tuple[bool, float]:
        """What makes an instance a better test of its term: the form says something, the reach."""
        return not self.vacuous, math.inf if self.reach is None else self.reach

    def to_json(self) -> dict:
        """Plain data; the verdict on the statement is that of the registry, with its version."""
        verdict = registry.load()[self.statement].verdict_json
        fields = {**vars(self), "inputs": dict(self.inputs), "outcome": self.outcome.value}
        return fields | {"verdict": verdict}

    @classmethod
    def from_json(cls, fields: Mapping) -> Judgement:
        values = {name: value for name, value in fields.items() if name != "verdict"}
        return cls(**{**values, "outcome": Outcome(fields["outcome"])})


def judge(attack: str, finding: AttackFinding) -> list[Judgement]:
    """Every form of the statement on the instance that was found."""
    statement = registry.load()[finding.statement]
    return [_row(attack, finding, statement, form) for form in statement.forms]


def _row(attack: str, finding: AttackFinding, statement: Statement, form: str) -> Judgement:
    lower, term = finding.lower, TestedTerm("all", math.inf, 0.0)
    try:
        bound = statement.evaluate_on(finding.inputs, form)
        log_claimed, value, vacuous = bound.log_value, bound.value, bound.vacuous
        term = term_of(statement, finding.inputs, bound)
    except InputError as refusal:
        if "stays below 1e308" not in str(refusal):
            raise
        log_claimed, value, vacuous = math.inf, math.inf, True
    below = value < lower.value - ROUNDING * abs(lower.value)
    if form != "printed":
        outcome = Outcome.BROKEN if below else Outcome.STANDS
    elif statement.printed.sense is Sense.CONSTANT:
        outcome = Outcome.REFUTED if diverges(finding.family) else Outcome.CONSTANT
    else:
        outcome = Outcome.REFUTED if below else Outcome.STANDS
    if outcome is Outcome.REFUTED and not statement.verdict.claims:
        outcome = Outcome.VIOLATED
    ratio = _ratio(lower.value, log_claimed)
    return Judgement(
        statement=statement.id,
        form=form,
        attack=attack,
        method=lower.method,
        δ=lower.δ,
        inputs=finding.inputs,
        lower=lower.value,
        claimed=value if math.isfinite(value) else None,
        ratio=ratio,
        vacuous=vacuous,
        term=term.name,
        reach=term.reach(lower.value) if term.others else ratio,
        outcome=outcome,
    )


def _ratio(lower: float, log_claimed: float) -> float | None:
    if lower <= 0:
        return 0.0
    log_ratio = math.log(lower) - log_claimed
    return math.exp(log_ratio) if log_ratio < 700 else None


def diverges(family: Family | None) -> bool:
    """Does the ratio of truth to claim grow without bound along the family?"""
    if family is None:
        return False
    ratios = [t / p for t, p in zip(family.lower_bounds, family.printed, strict=True)]
    return family.exponent > 0.1 and ratios[-1] > 2 * ratios[0]


def by_attack(rows: Iterable[Judgement]) -> list[Judgement]:
    """For each form of ours, attack and term the strongest instance where the form says something.

    Where it says nothing on any such instance, the strongest of them.
    """
    best: dict[tuple[str, str, str, str], Judgement] = {}
    for row in rows:
        key = (row.statement, row.form, row.attack, row.term)
        if row.form != "printed" and (key not in best or row.power > best[key].power):
            best[key] = row
    return list(best.values())


def strongest(rows: Iterable[Judgement]) -> list[Judgement]:
    """One row for each form: its strongest attack, with false verdicts that nothing refuted."""
    best: dict[tuple[str, str], Judgement] = {}
    for row in rows:
        key = (row.statement, row.form)
        if key not in best or row.strength > best[key].strength:
            best[key] = row
    return [_reproduced(row) for row in best.values()]


def _reproduced(row: Judgement) -> Judgement:
    missed = row.form == "printed" and registry.load()[row.statement].verdict.is_false
    if not missed or row.outcome is Outcome.REFUTED:
        return row
    return Judgement(**{**vars(row), "outcome": Outcome.NOT_REPRODUCED})

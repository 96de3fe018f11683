"""Planted errors: a statement whose derived form is too small, and what an attack says of it."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from dudley.audit.base import AttackFinding, all_attacks
from dudley.audit.judge import Outcome, judge
from dudley.core.bound import Bound
from dudley.core.statement import Form
from dudley.theorems import registry


def names(family: str) -> list[str]:
    """The attacks of one file of ``dudley.audit.attacks``."""
    return [n for n, a in all_attacks().items() if a.__module__ == f"dudley.audit.attacks.{family}"]


@cache
def findings(name: str, seed: int = 0) -> tuple[AttackFinding, ...]:
    """What an attack finds, as the audit runs it."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return tuple(all_attacks()[name]().run(rng))


def rows(families: Sequence[str], statement: str | None = None):
    """The judgements of all that the families find, about one statement or all."""
    return [
        row
        for family in families
        for name in names(family)
        for finding in findings(name)
        if statement in (None, finding.statement)
        for row in judge(name, finding)
    ]


def factors(rows, telling: bool = False) -> dict[str, float]:
    """By which factor each form of ours would have to shrink to be broken.

    ``telling``: only where the form says more than the trivial bound does.
    """
    best: dict[str, float] = {}
    for row in rows:
        if row.form != "printed" and not (telling and vacuous(row)):
            best[row.form] = max(best.get(row.form, 0.0), row.ratio or 0.0)
    return {form: 1 / ratio if ratio else np.inf for form, ratio in best.items()}


def vacuous(row) -> bool:
    return registry.load()[row.statement].evaluate_on(row.inputs, row.form).vacuous


def plant(monkeypatch, id: str, form: str, divide: float) -> None:
    """Divide one form of a statement, for the length of a test."""
    statements = registry.load()
    statement = statements[id]
    value = statement.forms[form].value

    @functools.wraps(value)
    def wrong(**inputs):
        result = value(**inputs)
        if not isinstance(result, Bound):
            return result / divide
        return replace(
            result, log_value=result.log_value - np.log(divide), exact=result.value / divide
        )

    right = statement.forms[form]
    changed = replace(statement, **{form: Form(right.latex, wrong, right.sense)})
    monkeypatch.setitem(statements._units, id, changed)


def broken(rows, form: str) -> bool:
    return any(row.form == form and row.outcome is Outcome.BROKEN for row in rows)

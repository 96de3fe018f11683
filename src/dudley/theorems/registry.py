"""All statements, by id."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from dudley.core.bound import Bound
from dudley.core.registry import Registry
from dudley.core.statement import Statement

STATEMENTS: Registry[Statement] = Registry("statement")
PAPERS = ("edelman2021", "trauger2024", "li2026", "mwigo2026")


def register(statement: Statement) -> Statement:
    """Add a statement to the registry."""
    return STATEMENTS.register(statement.id)(statement)


def load() -> Registry[Statement]:
    """The registry with every paper's statements in it."""
    for paper in PAPERS:
        package = import_module(f"dudley.theorems.{paper}")
        for module in iter_modules(package.__path__):
            import_module(f"dudley.theorems.{paper}.{module.name}")
    return STATEMENTS


def evaluate(id: str, given: Mapping[str, float], form: str = "derived") -> Bound:
    """A statement on numbers.

    >>> values = {"d": 64, "k": 64, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}
    >>> evaluate("trauger2024/lemma-3.6", values, "printed").value
    36.04...
    """
    return load()[id].evaluate_on(given, form)

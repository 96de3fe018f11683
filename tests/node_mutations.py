"""Wrong constants to plant in the facts of a node, and the searches that must see them."""

from dataclasses import replace

import pytest

from dudley.audit.problem import SearchProblem


def facts_with(cls, change):
    """Patch ``cls.facts``: ``change(node, signal, facts)`` gives the wrong ones."""

    def patch(monkeypatch):
        right = cls.facts
        monkeypatch.setattr(
            cls, "facts", lambda self, signal: change(self, signal, right(self, signal))
        )

    return patch


def use_times(cls, names, factor):
    """Multiply the declared weights of some blocks by a factor (a number, or of the node)."""

    def change(node, signal, facts):
        f = factor(node, signal) if callable(factor) else factor
        uses = tuple(
            replace(u, weight=u.weight * f) if u.name in names.split() else u for u in facts.uses
        )
        return replace(facts, uses=uses)

    return facts_with(cls, change)


def lipschitz_of(cls, wrong):
    return facts_with(cls, lambda n, s, f: replace(f, lipschitz=wrong(n, s, f)))


def radius_of(cls, wrong):
    return facts_with(cls, lambda n, s, f: replace(f, out=replace(f.out, radius=wrong(n, s, f))))


def attribute(owner, name, value):
    return lambda monkeypatch: monkeypatch.setattr(owner, name, value)


def planted(name, modes, node, patch, **more):
    return pytest.param(patch, SearchProblem(node, **more), modes, id=name)

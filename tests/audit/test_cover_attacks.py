"""Attacks on covering numbers: every one is attacked, and planted errors are found."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import planted
from dudley.audit import run as runs
from dudley.audit.attacks import linear_covers
from dudley.audit.judge import Outcome
from dudley.calculus import repeat
from dudley.calculus.memory import forget
from dudley.classes.covers.maurey import Maurey
from dudley.core.magnitude import Magnitude
from dudley.networks.head import Head
from dudley.theorems import registry

FAMILY = ("linear_covers", "network_covers", "given_covers")


def test_every_statement_about_a_covering_number_is_attacked_more_than_once():
    counts = Counter(
        f.statement for file in FAMILY for n in planted.names(file) for f in planted.findings(n)
    )
    assert set(counts) == {
        id for id, s in registry.load().items() if s.measure == "covering number"
    }
    assert min(counts.values()) >= 2


# -- planted errors, found by the audit itself ------------------


@pytest.fixture
def fresh():
    forget()
    yield
    forget()


def broken(*ids: str) -> set[tuple[str, str]]:
    """Which of these statements break, and in which form."""
    report = runs.run(list(ids), jobs=1)
    broken_forms = {
        (row.statement, row.form) for row in report.table if row.outcome is Outcome.BROKEN
    }
    assert report.exit_code == (1 if broken_forms else 0)
    return broken_forms


@pytest.mark.slow
@pytest.mark.parametrize("id", ["trauger2024/lemma-3.6", "li2026/lemma-B.3"])
def test_a_halved_constant_in_maureys_cover(id, fresh, monkeypatch):
    assert broken(id) == set()

    def halved(self, ratio, log_n):
        return right(self, _Halved(ratio), log_n)  # pyright: ignore[reportArgumentType]

    right = Maurey.log_entropy
    monkeypatch.setattr(Maurey, "log_entropy", halved)
    forget()
    assert broken(id) == {(id, "derived"), (id, "best")}


class _Halved:
    """A ratio B/ε whose square is only half of it."""

    def __init__(self, ratio):
        self.ratio, self.log = ratio, ratio.log - math.log(2) / 2

    def ceil_square(self, times: float = 1.0):
        return self.ratio.ceil_square(times / 2)


SCORED = [
    "edelman2021/corollary-4.4",
    "edelman2021/theorem-A.17",
    "trauger2024/corollary-4.2.1",
    "trauger2024/corollary-F.0.1",
    "trauger2024/corollary-F.0.2",
    "li2026/equation-14",
    "mwigo2026/lemma-6",
]


@pytest.mark.slow
def test_a_score_term_without_the_square_of_the_radius(fresh, monkeypatch):
    """Found in every statement about heads; the attacks are the same for all, and run once."""
    right = Head._scores

    def dropped(self, p, signal, asking):
        slope, uses = right(self, p, signal, asking)
        return slope, [replace(use, weight=use.weight / signal.radius**2) for use in uses]

    monkeypatch.setattr(Head, "_scores", dropped)
    broken_forms = broken(*SCORED)
    assert {id for id, form in broken_forms if form == "best"} >= set(SCORED)


@pytest.mark.slow
def test_a_product_over_the_wrong_layers(fresh, monkeypatch):
    """Sensitivities with the layers before a block in place of those after it."""
    right = repeat.Repeat.facts

    def wrong(self, signal):
        facts = right(self, signal)
        if signal.l1 is not None:
            return facts
        slopes, out = [], signal
        for _ in range(self.L):
            inner = self.inner.facts(out)
            slopes.append(float(inner.lipschitz.log))
            out = inner.out
        total = np.cumsum(slopes)
        before, after = total - slopes, total[-1] - total
        shift = np.where(np.isfinite(before - after), before - after, 0.0)
        uses = [replace(u, weight=Magnitude(u.weight.log + shift)) for u in facts.uses]
        return replace(facts, uses=tuple(uses))

    assert broken("edelman2021/theorem-A.17") == set()
    monkeypatch.setattr(repeat.Repeat, "facts", wrong)
    forget()
    assert ("edelman2021/theorem-A.17", "best") in broken("edelman2021/theorem-A.17")


def test_by_members_against_the_smallest_proper_cover():
    """Sparse signs in the unit ball of R^n and the origin, covered by themselves."""
    from itertools import product

    from dudley.theorems.witness.exact_covers import proper_cover

    for n in (2, 3):
        words = np.array([w for w in product((-1.0, 0.0, 1.0), repeat=n) if any(w)])
        words = words / np.linalg.norm(words, axis=1, keepdims=True)
        metric = np.abs(words[:, None] - words[None]).max(axis=2)
        for k in range(1, n + 1):
            for ε in (0.05, 0.2, 0.4, 0.55, 0.8, 0.95):
                lower = linear_covers.by_members(n, k, ε)
                assert lower <= proper_cover(metric, ε).value + 1e-9, (n, k, ε)

"""Which term an instance tests, and how much of it the truth needs."""

import pytest

from dudley.audit.base import AttackFinding
from dudley.audit.judge import judge
from dudley.audit.terms import TestedTerm, term_in_question, term_of
from dudley.core.bound import Bound, Sense, Term
from dudley.theorems.registry import load
from dudley.theorems.witness.lower import LowerBound

HEAD = load()["li2026/theorem-5.3"]


def bound(**terms: float) -> Bound:
    every = tuple(Term(name, value) for name, value in terms.items())
    return Bound.of(sum(terms.values()), quantity="", sense=Sense.SURELY, terms=every)


def test_a_resolution_is_part_of_the_complexity():
    claim = bound(complexity=2.0, resolution=2.0, approximation=3.0)
    term = term_of(HEAD, HEAD.example, claim)
    assert term == TestedTerm("complexity", 4.0, 3.0)
    assert term.reach(3.0) == 0 and term.reach(5.0) == 0.5 and term.reach(7.0) == 1


def test_heads_without_attention_test_something_else():
    claim = bound(complexity=2.0, approximation=1.0)
    for rest in ({"W_QK.l11": 0.0}, {"T": 1}):
        assert term_of(HEAD, {**HEAD.example, **rest}, claim).name == "complexity, no attention"
    far = bound(complexity=2.0, approximation=5.0)
    assert term_of(HEAD, {**HEAD.example, "T": 1}, far).name == "approximation"


def test_terms_in_question():
    statements = load()
    assert term_in_question(HEAD, "best") == "complexity"
    assert term_in_question(statements["edelman2021/theorem-A.4"], "derived") == "deviation"
    assert term_in_question(statements["trauger2024/lemma-3.6"], "derived") == "cover"


def test_a_shrunken_term_is_caught_at_its_reach():
    """The other terms and that share of the term are just the truth."""
    statement = load()["edelman2021/theorem-A.4"]
    values = {"n": 400, "class.rademacher": 0.2, "delta": 0.05, "loss.range": 1.0}
    terms = {t.name: t.value for t in statement.evaluate_on(values).terms}
    finding = AttackFinding(statement.id, values, LowerBound(0.3, ""))
    row = next(row for row in judge("planted", finding) if row.form == "derived")
    assert row.term == "complexity" and row.ratio == pytest.approx(0.3 / sum(terms.values()))
    assert row.reach is not None
    assert terms["deviation"] + row.reach * terms["complexity"] == pytest.approx(0.3)

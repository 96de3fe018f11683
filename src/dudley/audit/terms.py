"""Terms: which part of a bound an instance tests, and how far that part could shrink.

A lower bound near a claim says something of the part that carries the claim there, and nothing of
the others. An instance on which the approximation error is nearly all of a bound on the excess risk
leaves its complexity untested; one head that reads one token, or whose score matrix is 0, leaves
attention untested. So each instance is given a term:

* the largest summand of the bound, where it has several. The resolution of a cover counts as
  complexity: a one-scale bound balances the two.
* otherwise the whole bound, by the name of the quantity.
* Where attention has nothing to do, a complexity or a cover is one *without attention*.

The *reach* of the instance is the share of the term that the truth needs: with the other summands
as they are, the claim would fall below the truth if the term were smaller than this share of
itself. It is 0 where the others are enough. For a bound of one summand it is lower bound/claimed.

The *term in question* of a statement is that of its registered example. The examples were fixed
before any attack was run; that their term is the one in question was settled after first tables
had been seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dudley.core.bound import Bound
from dudley.core.statement import Statement

WHOLE = {"Rademacher complexity": "complexity", "covering number": "cover"}
PART_OF = {"resolution": "complexity"}
SCORES = ("W_QK", "W_Q", "W_K")
IDLE = ", no attention"


@dataclass(frozen=True)
class TestedTerm:
    """The largest part of a bound, and the sum of the others."""

    __test__ = False  # not a test of pytest's

    name: str
    value: float
    others: float

    def reach(self, lower: float) -> float:
        """The share of the term that a lower bound on the sum needs.

        >>> TestedTerm("complexity", 4.0, 1.0).reach(3.0)
        0.5
        """
        return max(0.0, (lower - self.others) / self.value) if self.value > 0 else 0.0


def term_of(statement: Statement, inputs: Mapping[str, float], bound: Bound) -> TestedTerm:
    """The part of the bound that these inputs test.

    >>> from dudley.theorems import registry
    >>> lemma = registry.load()["edelman2021/lemma-2.2"]
    >>> single = {**lemma.example, "class.C": 0.0}
    >>> [term_of(lemma, v, lemma.evaluate_on(v)).name for v in (lemma.example, single)]
    ['complexity', 'deviation']
    """
    sizes: dict[str, float] = {}
    for term in bound.terms if len(bound.terms) > 1 else ():
        name = PART_OF.get(term.name, term.name)
        sizes[name] = sizes.get(name, 0.0) + term.value
    sizes = sizes or {WHOLE.get(statement.measure, "all"): bound.value}
    name = max(sizes, key=lambda term: sizes[term])
    idle = IDLE if name in ("complexity", "cover") and is_idle(inputs) else ""
    others = sum(size for term, size in sizes.items() if term != name)
    return TestedTerm(name + idle, sizes[name], others)


def term_in_question(statement: Statement, form: str) -> str:
    """The term of the statement's example."""
    bound = statement.evaluate_on(statement.example, form)
    return term_of(statement, statement.example, bound).name


def is_idle(inputs: Mapping[str, float]) -> bool:
    """Has attention nothing to do: one token, or scores that are 0?

    >>> [is_idle(v) for v in ({"T": 1, "W_QK.op": 2.0}, {"W_QK.op": 0.0}, {"T": 3}, {"W.op": 0.0})]
    [True, True, False, False]
    """
    if inputs.get("T") == 1:
        return True
    norms = [value for name, value in inputs.items() if _owner(name) in SCORES]
    return bool(norms) and min(norms) == 0


def _owner(name: str) -> str:
    matrix, _, norm = name.partition(".")
    return "" if norm in ("moved", "rank") else matrix

"""Aims: which statements an attack fits, by what they bound and by their inputs.

An attack on a kind of class (linear maps in norm balls, heads with a readout) needs no list of
statements: it fits every statement whose quantity names that class and all of whose inputs it
understands. An input that it does not know could change the class, so then it does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dudley.core.constraint import Constraint, Rank, ball
from dudley.core.norms import NORMS, canonical
from dudley.core.statement import Statement

HIDDEN = "c"  # the constant that a paper does not name


@dataclass(frozen=True)
class Aim:
    """A kind of quantity, words of which it names one, and the inputs that describe the class.

    >>> from dudley.theorems import registry
    >>> maps = Aim("covering number", ("linear maps",), ("W",), ("d", "k", "epsilon"), ("epsilon",))
    >>> maps.fits(registry.load()["trauger2024/lemma-3.6"])  # X.row2inf is not among its inputs
    False
    """

    measure: str  # of ``core.statement.MEASURES``
    words: tuple[str, ...]
    matrices: tuple[str, ...]  # whose norms it takes
    takes: tuple[str, ...]  # its other inputs
    needs: tuple[str, ...]  # inputs, or matrices of which some norm is an input
    without: tuple[str, ...] = ()  # words that name another class
    rank: bool = False  # does it take ranks?

    def fits(self, statement: Statement) -> bool:
        """Can the attack be aimed at the statement?"""
        names = {i.name for i in statement.inputs}
        bounded = {i.name for i in statement.inputs if i.default is None or i.default < math.inf}
        present = bounded | {name.partition(".")[0] for name in bounded}
        return (
            statement.measure == self.measure
            and any(word in statement.quantity for word in self.words)
            and not any(word in statement.quantity for word in self.without)
            and present.issuperset(self.needs)
            and all(self.understands(name) for name in names)
        )

    def understands(self, name: str) -> bool:
        """Does it know what the input says about the class?"""
        matrix, _, norm = name.partition(".")
        if matrix in self.matrices:
            return canonical(norm) in NORMS or (self.rank and norm == "rank")
        return name in (*self.takes, HIDDEN)


def filled(statement: Statement, values: Mapping[str, float]) -> dict[str, float]:
    """The inputs with their defaults; norms that are not bounded are left out."""
    return {name: v for name, v in statement.gather(values).items() if v < math.inf}


def constraint_on(matrix: str, values: Mapping[str, float]) -> Constraint | None:
    """The set that the inputs describe: every norm of the matrix, and its rank; none if none is.

    >>> print(constraint_on("W", {"W.l11": 2.0, "W.op": 1.0, "d": 3}))
    l11 ≤ 2 & op ≤ 1
    """
    constraint: Constraint | None = None
    for name, value in values.items():
        owner, _, norm = name.partition(".")
        if owner == matrix:
            part = Rank(int(value)) if norm == "rank" else ball(norm, value)
            constraint = part if constraint is None else constraint & part
    return constraint

"""A measured matrix as the balls it lies in, every radius *observed*."""

from __future__ import annotations

from dudley.core.constraint import Ball, Center, Constraint, Observed
from dudley.core.norms import norm_named
from dudley.weights.measurement import MatrixRow

MATRIX = ("op", "fro", "l11", "col21")


def constraint(
    row: MatrixRow, norms=MATRIX, turned: bool = False, tie: str | None = None
) -> Constraint:
    """The balls that a measured matrix lies in, around zero and around its initial value.

    The initial value enters covers only, as a centre; nothing is asked of its norms. ``turned``:
    the balls of its transpose.
    """
    balls = [Ball(name, Observed(row.norms[_turn(name, turned)])) for name in norms]
    if row.distance is not None:
        start = Center(())
        balls += [Ball(n, Observed(row.distance[_turn(n, turned)]), start) for n in norms]
    return Constraint(tuple(balls), tie=tie)


def _turn(norm: str, turned: bool) -> str:
    return norm_named(norm).transposed if turned else norm

"""A measured matrix as the balls it lies in, every radius *observed*."""

from __future__ import annotations

from dudley.core.constraint import Ball, Center, Constraint, Observed
from dudley.weights.measurement import MatrixRow

MATRIX = ("op", "fro", "l11", "col21")
_TURNED = {"col21": "row21", "col2inf": "row2inf", "col1inf": "row1inf"}
_TURNED |= {there: here for here, there in _TURNED.items()}


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
    return _TURNED.get(norm, norm) if turned else norm

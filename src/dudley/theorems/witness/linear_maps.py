"""The strongest lower bound known here on log N of a class of linear maps x ↦ xW.

Three metrics occur (``form``): the ℓ2 norm of xΔ, the scores |xΔzᵀ|, the largest logit of xΔ, where
Δ = W − W'. Over all inputs of ℓ2 norm ≤ R they are R·op, R²·op and R·col2inf of Δ; on inputs R·e_i
alone (fewer than all, and of ℓ1 norm R as well) R·row2inf, R²·linf and R·linf. Two means:

*Patterns* (``patterns``) of signs in an a'×b' corner of W. A difference in a row is revealed by
R·e_i, one in a column by the difference itself as input. Rows may also be nearer than 2ε, where no
ball of their space holds many (``crowds``), if an output at R·e_i is the whole row. Columns and
scores not: they are shown number by number, and centres need not be linear in what shows them.

*Volumes* (``volumes``), also of corners. A centre moves neither; members near several centres are
not attacked. Every corner is a smaller class, so any corner's bound is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from dudley.classes.linear import FORMS, LinearMap
from dudley.core.constraint import Constraint, radius_of
from dudley.core.entropy import resolutions
from dudley.core.errors import InputError
from dudley.core.norms import norm_named
from dudley.core.rounding import down
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.patterns import (
    entries_of_signs,
    rows_in_crowds,
    rows_of_signs,
    scattered_signs,
)
from dudley.theorems.witness.volumes import volume_ratio

SPARSITIES = (1, 2, 4, 8, 16, 32)
EVERYWHERE = {"linear": "op", "bilinear": "op", "logits": "col2inf"}
ON_BASIS = {"linear": "row2inf", "bilinear": "linf", "logits": "linf"}


def _swapped(radii: dict[str, float]) -> dict[str, float]:
    return {norm_named(name).transposed: r for name, r in radii.items()}


def _sizes(limit: int, also: int | None) -> list[int]:
    powers = {2**e for e in range(limit.bit_length()) if 2**e <= limit}
    return sorted(powers | {limit} | ({also} if also and also <= limit else set()))


def _corners(a: int, b: int, constraint: Constraint) -> Iterator[tuple[int, int]]:
    """Corners whose matrices all have the rank and the number of nonzeros that are allowed."""
    rank, few = constraint.rank, constraint.nonzeros
    for rows in _sizes(a, rank or few):
        for columns in _sizes(b, rank or few):
            if min(rows, columns) <= (rank or a) and rows * columns <= (few or a * b):
                yield rows, columns


def _radii(constraint: Constraint) -> dict[str, float] | None:
    """The balls by their norms, if one centre serves all."""
    centers = {ball.center for ball in constraint.balls}
    bounded = constraint.rank is not None or constraint.nonzeros is not None
    if len(centers) > 1 or (centers != {None} and bounded):
        return None
    radii: dict[str, float] = {}
    for ball in constraint.balls:
        radii[ball.norm] = min(float(ball.radius), radii.get(ball.norm, math.inf))
    return radii


def linear(
    maps: LinearMap,
    ε: float,
    radius: float = 1.0,
    n: int | None = None,
    form: str = "linear",
    l1: bool = False,
) -> LowerBound:
    """log N(ε) of {x ↦ xW} on inputs of ℓ2 norm ≤ radius (of ℓ1 norm ≤ radius too, with ``l1``).

    Without ``n``: covers that serve all inputs. With it: the supremum over n points (pairs of
    points, for scores), reached here by basis vectors. Centres may be any functions.

    >>> from dudley.core.constraint import L11, Frobenius, Spectral
    >>> print(linear(LinearMap((64, 64), Spectral(1.0)), 0.5))      # 4096·log 2
    at least 2839.13 (volumes: the op ball in R^(64×64))
    >>> print(linear(LinearMap((1, 400), Frobenius(1.0)), 0.5, n=10))
    at least 277.259 (volumes: the row2inf ball in R^(1×400))
    >>> print(linear(LinearMap((64, 64), L11(1.0)), 0.45))           # the 8192 vertices
    at least 9.01091 (signs: 1 scattered in 64×64)
    """
    resolutions(ε)
    if form not in FORMS:
        raise InputError("form", " or ".join(FORMS), form)
    if n is not None and not n >= 1:
        raise InputError("n", "a number ≥ 1", n)
    reach = radius_of("radius", radius)
    if form == "bilinear":
        reach = float(down(reach * reach))
    return _linear(maps, float(ε), float(reach), None if n is None else int(n), form, l1)


@lru_cache(maxsize=4096)
def _linear(
    maps: LinearMap, ε: float, reach: float, n: int | None, form: str, l1: bool
) -> LowerBound:
    radii = _radii(maps.constraint)
    if radii is None or reach == 0:
        return LowerBound(0.0, "one member")
    radii = {name: float(down(r * reach)) for name, r in radii.items()}
    everywhere = n is None and not l1
    metric = (EVERYWHERE if everywhere else ON_BASIS)[form]
    best = LowerBound(0.0, "one member")
    rows, columns = maps.shape
    if n is not None:
        rows = min(rows, n)
    for a, b in _corners(rows, columns, maps.constraint):
        if n is not None and form == "bilinear" and a * b > n:
            continue
        for value, method in _bounds(radii, a, b, metric, ε, form):
            if value > best.value:
                best = LowerBound(value, method)
    return best


def _bounds(
    radii: dict[str, float], a: int, b: int, metric: str, ε: float, form: str
) -> Iterator[tuple[float, str]]:
    value, name = volume_ratio(radii, (a, b), metric, ε)
    yield value, f"volumes: the {name} ball in R^({a}×{b})"
    if metric in ("op", "row2inf"):
        for k in {k for k in SPARSITIES if k < b} | {b}:
            value = rows_of_signs(radii, a, b, k, ε)
            yield value, f"signs: {a}×{b} patterns, {k} to a row"
            if form == "linear":
                value = rows_in_crowds(radii, a, b, k, ε)
                yield value, f"crowds: {a}×{b} patterns, {k} to a row"
    if metric in ("op", "col2inf"):
        for k in {k for k in SPARSITIES if k < a} | {a}:
            value = rows_of_signs(_swapped(radii), b, a, k, ε)
            yield value, f"signs: {a}×{b} patterns, {k} to a column"
    if metric in ("op", "row2inf"):
        for k in (k for k in SPARSITIES if k < a * b):
            ρ = min(a, 2 * k, b if metric == "op" else a)
            yield scattered_signs(radii, a, b, k, ρ, ε), f"signs: {k} scattered in {a}×{b}"
    if metric == "linf":
        yield entries_of_signs(radii, a, b, ε), f"signs: all {a}×{b} patterns"

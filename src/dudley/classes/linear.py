"""Linear maps x ↦ xW of a constrained matrix, with every cover known for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from dudley.classes.best import BestOf
from dudley.classes.covers.base import COVERS, CoverProblem
from dudley.core.constraint import Constraint, radius_of, size_of
from dudley.core.entropy import Metric, Scope
from dudley.core.errors import InputError
from dudley.core.rounding import up

FORMS = {"linear": Metric.ROWS, "bilinear": Metric.SCALAR, "logits": Metric.LOGITS}


@dataclass(frozen=True)
class LinearMap:
    """{x ↦ xW : W ∈ R^{a×b} in the constraint set}.

    >>> from dudley.core.constraint import L11
    >>> head = LinearMap((64, 64), L11(1.0)).entropy()
    >>> head(0.5), head(1.0)                      # log D(4096, 3); zero at the radius
    (25.2..., 0.0)
    """

    shape: tuple[int, int]
    constraint: Constraint

    def __post_init__(self) -> None:
        for what, size in zip(("rows", "columns"), self.shape, strict=True):
            size_of(f"{what} of the matrix", size)
        for ball in self.constraint.balls:
            shape = None if ball.center is None else ball.center.shape
            if shape not in (None, self.shape):
                raise InputError("center", f"a matrix of shape {self.shape}", shape)
        if not any(v < math.inf for v in self.constraint.bounds(self.shape).values()):
            raise InputError(
                "constraint", "at least one norm bound", str(self.constraint) or "none"
            )

    def norm(self, name: str) -> float:
        """The best bound on a norm of W that the constraints imply."""
        return self.constraint.bounds(self.shape)[name]

    def entropy(
        self,
        form: str = "linear",
        rows: float = 1,
        pairs: float = 1,
        l1: float | None = None,
        together: int = 0,
    ) -> BestOf:
        """The entropy on inputs of ℓ2 norm ≤ 1 (and ℓ1 norm ≤ ``l1``).

        ``rows`` and ``pairs`` count the evaluation points of one example, for the covers that
        depend on them. ``together``: these points depend on the centre that is chosen here and on
        those of other blocks, so many with this one; 0 for points that are given.
        """
        if l1 is not None:
            radius_of("l1", l1)
        for what, count in (("rows", rows), ("pairs", pairs)):
            if radius_of(what, count) < 1:
                raise InputError(what, "a number ≥ 1", count)
        return _entropy(self, form, float(rows), float(pairs), l1, together)


def _root(a: int) -> float:
    """√a, exact for squares and rounded up otherwise."""
    return float(math.isqrt(a)) if math.isqrt(a) ** 2 == a else float(up(math.sqrt(a)))


@lru_cache(maxsize=4096)
def _entropy(
    linear: LinearMap, form: str, rows: float, pairs: float, l1: float | None, together: int
) -> BestOf:
    if form not in FORMS:
        raise InputError("form", " or ".join(FORMS), form)
    reach = _root(linear.shape[0])
    l1 = reach if l1 is None else min(l1, reach)
    unfit = Scope.POINTS if together else Scope.ADAPTIVE
    kinds = [COVERS[name] for name in COVERS if COVERS[name].scope is not unfit]
    covers, radius = [], math.inf
    deviations = linear.constraint.deviations(linear.shape)
    for center, deviation in deviations:
        size = min(deviation["op"], float(up(deviation["row2inf"] * l1)))
        if form == "logits":
            size = min(size, deviation["col2inf"])
        problem = CoverProblem(
            linear.shape,
            linear.constraint,
            form,
            size,
            deviation,
            center is not None,
            l1,
            rows,
            pairs,
            together,
        )
        covers += [c for kind in kinds for c in kind.of(problem) if c.bound < math.inf]
        radius = min(radius, size)
    (center, _), *others = deviations
    sparse = linear.constraint.rank is not None or linear.constraint.nonzeros is not None
    has_center = not others and (center is None or not sparse)
    # Of several centres none need lie in the other balls; volumetric covers are still proper.
    return BestOf(tuple(covers), radius, FORMS[form], has_center)

"""Few nonzeros: choose where they are, then put each on its own interval."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from dudley.classes.counting import log_choose
from dudley.classes.covers.base import COVERS, Cover, CoverProblem, log_of
from dudley.classes.ratio import Ratio
from dudley.core.entropy import Scope
from dudley.core.rounding import up


def per_entry(problem: CoverProblem, s: int) -> float:
    """How far the map moves per unit error of s entries: c with error ≤ c·max|W − Ŵ|.

    With at most s entries wrong, ‖xΔ‖₂ ≤ ‖x‖₂‖Δ‖_F ≤ √s, and ≤ ‖x‖₁ max_i‖Δ_i‖₂ ≤ l1·√min(b, s)
    (scores xΔzᵀ are no larger); a single logit has |xΔ_j| ≤ min(l1, √min(a, s)).
    """
    a, b = problem.shape
    if problem.form == "logits":
        return min(problem.l1, _root(min(a, s)))
    return min(float(up(problem.l1 * _root(min(b, s)))), _root(s))


def _root(s: int) -> float:
    root = math.isqrt(s)
    return float(root) if root * root == s else float(up(math.sqrt(s)))


@COVERS.register("sparse")
@dataclass(frozen=True)
class SparseCover(Cover):
    """At most s nonzeros of size ≤ B among p entries: C(p, s) supports, ⌈cB/ε⌉ cells for each.

    c is the error of the map per unit error of an entry: log N ≤ log C(p, s) + s·log⌈cB/ε⌉. A
    matrix with fewer nonzeros has a support inside one of size s.
    """

    dim: int
    count: int
    name = "sparse"
    scope = Scope.UNIFORM
    latex = r"\log N(\varepsilon)\le\log\tbinom ps+s\log\lceil cB/\varepsilon\rceil"
    citation = "supports and intervals"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        s = problem.constraint.nonzeros
        if s is None or problem.centered:
            return
        a, b = problem.shape
        s = min(int(s), a * b)
        c, balls = per_entry(problem, s), problem.constraint.balls
        bound = problem.deviation["linf"] * c
        inside = len(balls) == 1 and balls[0].norm == "linf" and problem.constraint.rank is None
        yield cls(bound if c == 1 else float(up(bound)), inside, a * b, s)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        finite = ratio.ceil()
        log_cells = np.where(np.isfinite(finite), log_of(finite), ratio.log + 1e-9)
        return log_of(up(log_choose(self.dim, self.count) + self.count * log_cells, 8))

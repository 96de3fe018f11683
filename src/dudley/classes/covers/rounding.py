"""Rounding every entry of an ℓ1-bounded matrix to a grid: better than Maurey at fine scales."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from dudley.classes.counting import log_delannoy, log_nearest
from dudley.classes.covers.base import COVERS, Cover, CoverProblem, log_of
from dudley.classes.ratio import Ratio
from dudley.core.entropy import Scope
from dudley.core.rounding import up


@COVERS.register("rounding-inward")
@dataclass(frozen=True)
class RoundingInward(Cover):
    """Entries rounded toward zero on a grid of step B/k: error ≤ B√p/k, centres in the ball.

    k = ⌈√p·B/ε⌉ gives  log N ≤ log D(p, k).
    """

    dim: int
    name = "rounding-inward"
    scope = Scope.UNIFORM
    latex = r"\log N(\varepsilon)\le\log D\bigl(p,\lceil\sqrt p\,B/\varepsilon\rceil\bigr)"
    citation = "rounding toward zero"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        a, b = problem.shape
        yield cls(problem.deviation["l11"], problem.constraint.only("l11"), a * b)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        root = float(up(math.sqrt(self.dim)))
        return log_of(log_delannoy(self.dim, ratio.ceil(root), ratio.log + math.log(root) + 1e-9))


@COVERS.register("rounding-nearest")
@dataclass(frozen=True)
class RoundingNearest(Cover):
    """Entries rounded to the nearest point of a grid of step 2ε/√p; centres may leave the ball.

    The rounded vector has ℓ1 norm at most B√p/(2ε) + p/2 steps:
    log N ≤ log D(p, ⌈√p·B/(2ε) + p/2⌉).
    """

    dim: int
    name = "rounding-nearest"
    scope = Scope.UNIFORM
    latex = r"\log N(\varepsilon)\le\log D\bigl(p,\lceil\sqrt p\,B/2\varepsilon+p/2\rceil\bigr)"
    citation = "rounding to nearest"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        a, b = problem.shape
        yield cls(problem.deviation["l11"], False, a * b)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        half_root = float(up(math.sqrt(self.dim))) / 2
        log_steps = np.logaddexp(ratio.log + math.log(half_root), math.log(self.dim / 2)) + 1e-9
        return log_of(
            log_delannoy(self.dim, ratio.ceil(half_root) + math.ceil(self.dim / 2), log_steps)
        )


@COVERS.register("rounding-entries")
@dataclass(frozen=True)
class RoundingEntries(Cover):
    """One output, inputs of bounded ℓ1 norm: entries to the nearest multiple of 2ε/l1.

    |x·(w − ŵ)| ≤ ‖x‖₁ max_i |w_i − ŵ_i|, and an entry that becomes z_i ≠ 0 steps had size at least
    (2|z_i| − 1)ε/l1, so Σ_{z_i≠0} (2|z_i| − 1) ≤ ⌊B·l1/ε⌋ = K; such vectors are counted
    (:func:`~dudley.classes.counting.log_nearest`). B/ε enters, where Maurey has its square.
    """

    dim: int
    name = "rounding-entries"
    scope = Scope.UNIFORM
    latex = (
        r"\log N(\varepsilon)\le\log\#\bigl\{z\in\mathbb Z^p:"
        r"\textstyle\sum_{z_i\ne0}(2|z_i|-1)\le B\ell_1/\varepsilon\bigr\}"
    )
    citation = "rounding to nearest, in the largest entry"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        a, b = problem.shape
        if b == 1 and problem.l1 < math.sqrt(a):
            bound = problem.deviation["l11"] * problem.l1
            bound = bound if problem.l1 == 1 else float(up(bound))
            yield cls(bound, False, a)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        return log_of(log_nearest(self.dim, ratio.ceil(), ratio.log + 1e-9))

"""Covers that count parameters: volume ratios, and products of low-rank factors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from dudley.classes.covers.base import COVERS, Cover, CoverProblem, log_of
from dudley.classes.ratio import Ratio
from dudley.core.entropy import Scope
from dudley.core.rounding import up


def log_one_plus(log_x: np.ndarray) -> np.ndarray:
    """log(1 + e^{log x}) without overflow."""
    return np.logaddexp(0, log_x)


@COVERS.register("volumetric")
@dataclass(frozen=True)
class Volumetric(Cover):
    """A maximal packing of the class is a cover, and volumes bound its size.

    In a space of dimension p, a set inside a ball of radius B of the norm that measures the error
    holds at most (1 + 2B/ε)^p points more than ε apart:  log N ≤ p log(1 + 2B/ε).  The centres
    are members of the class, whatever further constraints it has.
    """

    dim: int
    name = "volumetric"
    scope = Scope.UNIFORM
    latex = r"\log N(\varepsilon)\le p\log(1+2B/\varepsilon)"
    citation = "volume comparison"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        a, b = problem.shape
        yield cls(problem.radius, True, a * b)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        return log_of(up(self.dim * log_one_plus(math.log(2) + ratio.log), 16))


@COVERS.register("rank")
@dataclass(frozen=True)
class RankCover(Cover):
    """W = AC with inner dimension r and op(A), op(C) ≤ √B, both factors covered by volume.

    Splitting ε between the factors in proportion to a and b,
    log N ≤ ra·log(1 + 2x(a+b)/a) + rb·log(1 + 2x(a+b)/b),  x = B/ε.  Products of the centres
    have rank ≤ r and spectral norm ≤ B.

    Reference: repairs li2026, Assumption 5.7 and Lemma B.6, which drop the dimensions.
    """

    shape: tuple[int, int]
    rank: int
    name = "rank"
    scope = Scope.UNIFORM
    latex = (
        r"\log N(\varepsilon)\le ra\log(1+2x\tfrac{a+b}{a})+rb\log(1+2x\tfrac{a+b}{b}),"
        r"\ x=B/\varepsilon"
    )
    citation = "low-rank factorisation (repairs li2026, Assumption 5.7)"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        constraint = problem.constraint
        if constraint.rank is None or problem.centered:
            return
        inside = len(constraint.balls) == 1 and constraint.balls[0].norm == "op"
        inside = inside and constraint.nonzeros is None
        yield cls(problem.deviation["op"], inside, problem.shape, constraint.rank)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        a, b = self.shape
        return log_of(up(self.rank * (self._factor(a, b, ratio) + self._factor(b, a, ratio)), 16))

    def _factor(self, a: int, b: int, ratio: Ratio) -> np.ndarray:
        return a * log_one_plus(math.log(2 * (a + b) / a) + ratio.log)


@COVERS.register("grid")
@dataclass(frozen=True)
class GridCover(Cover):
    """Maps with one output: each of the p weights on its own interval, ⌈B·l1/ε⌉ cells each.

    |x·(w − ŵ)| ≤ ‖x‖₁ max_i |w_i − ŵ_i|. For a gain (inputs e_i, l1 = 1) this is exact.
    """

    dim: int
    name = "grid"
    scope = Scope.UNIFORM
    latex = r"\log N(\varepsilon)\le p\log\lceil B\ell_1/\varepsilon\rceil"
    citation = "intervals"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        if problem.shape[1] == 1:
            bound = problem.deviation["linf"] * problem.l1
            bound = bound if problem.l1 == 1 else float(up(bound))
            yield cls(bound, problem.constraint.only("linf"), problem.shape[0])

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        finite = ratio.ceil()
        log_cells = np.where(np.isfinite(finite), log_of(finite), ratio.log + 1e-9)
        return log_of(up(self.dim * log_cells, 8))

"""Maurey's sparse approximation of an ℓ1 ball."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from dudley.classes.counting import log_delannoy
from dudley.classes.covers.base import COVERS, Cover, CoverProblem, log_of
from dudley.classes.ratio import Ratio
from dudley.core.entropy import Scope
from dudley.core.rounding import up


@COVERS.register("maurey")
@dataclass(frozen=True)
class Maurey(Cover):
    """The ℓ1 ball of radius B in R^p by averages of K signed basis vectors.

    If f = Σ a_i V_i with ‖V_i‖ ≤ B and Σ a_i ≤ 1, K independent draws of the V_i have mean
    squared error ≤ (B² − ‖f‖²)/K; with 0 also available, some average is within B/√(K+1). So
    K = ⌈(B/ε)²⌉ − 1 suffices for error ≤ ε, and the averages are B/K times integer vectors of
    ℓ1 norm ≤ K:  log N ≤ log D(p, K) ≤ K log(2p+1).  The centres lie in the ball.

    Reference: trauger2024, Lemmas 3.1 and 3.6 (there with K = (B/ε)² and the count (2p+1)^K).
    """

    dim: int
    name = "maurey"
    scope = Scope.UNIFORM
    latex = r"\log N(\varepsilon)\le\log D\bigl(p,\lceil B^2/\varepsilon^2\rceil-1\bigr)"
    citation = "trauger2024, Lemma 3.6 (Maurey), with the exact count"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        a, b = problem.shape
        yield cls(problem.deviation["l11"], problem.constraint.only("l11"), a * b)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        K = ratio.ceil_square() - 1
        return log_of(log_delannoy(self.dim, K, 2 * ratio.log))


@COVERS.register("maurey-rows")
@dataclass(frozen=True)
class MaureyRows(Cover):
    """Each row of W by Maurey, for inputs of bounded ℓ1 norm.

    ‖x(W − Ŵ)‖₂ ≤ ‖x‖₁ max_i ‖W_i − Ŵ_i‖₂, so the a rows, each in the ℓ1 ball of radius
    B = row1inf of R^b, are covered one by one:  log N ≤ a · log D(b, ⌈(B·l1/ε)²⌉ − 1).

    Reference: trauger2024, Lemma 3.3 (its ‖W‖_{1,∞} of the map x ↦ Wx is our ``row1inf``).
    """

    shape: tuple[int, int]
    name = "maurey-rows"
    scope = Scope.UNIFORM
    latex = r"\log N(\varepsilon)\le a\log D\bigl(b,\lceil B^2\ell_1^2/\varepsilon^2\rceil-1\bigr)"
    citation = "trauger2024, Lemma 3.3, with the exact count"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        bound = problem.deviation["row1inf"] * problem.l1
        bound = bound if problem.l1 == 1 else float(up(bound))
        yield cls(bound, problem.constraint.only("row1inf"), problem.shape)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        a, b = self.shape
        K = ratio.ceil_square() - 1
        return log_of(a * log_delannoy(b, K, 2 * ratio.log))

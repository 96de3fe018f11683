"""Covers on a finite set of points: the perceptron's mistake bound, used as a code.

Scalar case. {x ↦ v·x : ‖v‖₂ ≤ B} on N points with ‖x_i‖₂ ≤ 1: while some point has
|(v − v̂)·x_i| > ε, add ±ε x_i to v̂. Each step lowers ‖v − v̂‖² by more than ε², so there are at
most K = ⌈(B/ε)²⌉ − 1 of them, and v̂/ε is an integer combination of the points with coefficients
of ℓ1 norm ≤ K: N_∞(ε) ≤ D(N, K). The centres may leave the ball. It replaces Zhang's cover, whose
constant is 36 and whose logarithm grows with 1/ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from dudley.classes.counting import log_binomial, log_delannoy
from dudley.classes.covers.base import COVERS, Cover, CoverProblem, log_of
from dudley.classes.ratio import Ratio
from dudley.core.entropy import Scope
from dudley.core.rounding import up


def points(log_n: float, rows: float) -> float:
    """Evaluation points of n examples with ``rows`` points each; n is an integer."""
    n = np.exp(log_n)
    n = np.round(n) if n < 1e12 else up(n, 2048)  # log n is within a few units in its last place
    return float(np.ceil(n * rows))


@COVERS.register("perceptron")
@dataclass(frozen=True)
class Perceptron(Cover):
    """Scalar functions of the weights, all at once: scores of vec(W), one output, or all logits.

    A score xWzᵀ is ⟨W, xᵀz⟩, a linear function of vec(W) on a unit matrix, and so is a logit
    (xW)_j = ⟨W, xᵀe_j⟩:  log N ≤ log D(N, ⌈(B_F/ε)²⌉ − 1), N the number of pairs.
    """

    evaluations: float  # per example
    name = "perceptron"
    scope = Scope.POINTS
    latex = r"\log N(\varepsilon)\le\log D\bigl(N,\lceil\|W\|_F^2/\varepsilon^2\rceil-1\bigr)"
    citation = "perceptron cover (replaces edelman2021, Lemma A.10)"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        evaluations = {
            "bilinear": problem.pairs,
            "logits": problem.rows * problem.shape[1],
            "linear": problem.rows if problem.shape[1] == 1 else None,
        }.get(problem.form)
        if evaluations is not None:
            yield cls(problem.deviation["fro"], False, evaluations)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        K = ratio.ceil_square() - 1
        return log_of(log_delannoy(points(log_n, self.evaluations), K, 2 * ratio.log))


@COVERS.register("perceptron-columns")
@dataclass(frozen=True)
class PerceptronColumns(Cover):
    """Each of the b columns (output coordinates) by its own perceptron, at resolution ε/√b.

    log N ≤ b·log D(N, ⌈b(B/ε)²⌉ − 1), B the largest column norm; for logits no √b is lost.

    Reference: repairs edelman2021, Lemma 4.5.
    """

    columns: int
    rows: float
    split: float
    name = "perceptron-columns"
    scope = Scope.POINTS
    latex = (
        r"\log N(\varepsilon)\le b\log D\bigl(N,\lceil b\,\max_j\|W_{:,j}\|_2^2"
        r"/\varepsilon^2\rceil-1\bigr)"
    )
    citation = "perceptron cover by columns (repairs edelman2021, Lemma 4.5)"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        b = problem.shape[1]
        split = 1.0 if problem.form == "logits" else float(b)
        yield cls(problem.deviation["col2inf"], False, b, problem.rows, split)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        K = ratio.ceil_square(self.split) - 1
        log_K = 2 * ratio.log + math.log(self.split)
        return log_of(self.columns * log_delannoy(points(log_n, self.rows), K, log_K))


@COVERS.register("perceptron-col21")
@dataclass(frozen=True)
class PerceptronCol21(Cover):
    """Columns of bounded total norm: first round the norms, then cover each column.

    With k_j = ⌊q‖W_j‖/B⌋ (Σ k_j ≤ q: at most C(b+q, b) choices) and ε_j² = ε²(k_j+1)/(b+q), the
    perceptron needs Σ_j (‖W_j‖/ε_j)² ≤ (1+b/q)²(B/ε)² steps in all, for every integer q ≥ 1:

    log N ≤ (1 + b/q)² (B/ε)² log(2N+1) + log C(b+q, b).

    One factor would do for the steps that are taken, as Σ ‖W_j‖²/(k_j+1) ≤ (B/q) Σ ‖W_j‖. The
    other one lets the k_j alone say how many steps each column may take, so that words need not
    say it again: that would cost log C(b+K, b), K the steps in all.

    Reference: repairs trauger2024, Lemmas 3.4 and 3.5 (their norm sums the wrong side).
    """

    columns: int
    rows: float
    name = "perceptron-col21"
    scope = Scope.POINTS
    latex = r"\log N(\varepsilon)\le\min_q(1+b/q)^2(B/\varepsilon)^2\log(2N+1)+\log\tbinom{b+q}{b}"
    citation = "perceptron cover, sum of column norms (repairs trauger2024, Lemma 3.5)"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        yield cls(problem.deviation["col21"], False, problem.shape[1], problem.rows)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        return by_column_norms(self.columns, math.log1p(2 * points(log_n, self.rows)), ratio)


def by_column_norms(b: int, per_step: float, ratio: Ratio) -> np.ndarray:
    """log min_q ((1 + b/q)² (B/ε)² · per_step + log C(b+q, b)), over q = b/8, b/4, …, 256b.

    These are lines in s = (B/ε)² · per_step, each best between where the lines before and after it
    cross it.
    """
    log_slopes, extras, log_crossings = _lines(b)
    best = np.searchsorted(log_crossings, 2 * ratio.log + math.log(per_step))
    steps = 2 * ratio.log + log_slopes[best] + math.log(per_step) + 1e-12
    return np.logaddexp(steps, log_of(extras)[best])


@lru_cache(maxsize=1024)
def _lines(b: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Those of the lines that are least somewhere, from where s is small: log of their slopes,
    their values at s = 0, and log of s where each gives way to the next.
    """
    lines: list[tuple[float, float]] = []
    crossings: list[float] = []
    for q in np.unique(np.ceil(b * 2.0 ** np.arange(-3, 9))):
        log_slope, extra = 2 * math.log1p(b / q), log_binomial(b, q)
        while lines:
            at = (extra - lines[-1][1]) / (math.exp(lines[-1][0]) - math.exp(log_slope))
            if len(lines) == 1 or at > crossings[-1]:
                crossings.append(at)
                break
            lines.pop()
            crossings.pop()
        lines.append((log_slope, extra))
    log_slopes, extras = np.array(lines).T
    return log_slopes, extras, np.log(crossings)

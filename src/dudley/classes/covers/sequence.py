"""Covers on points that the centres themselves decide: words of corrections, in their order.

Blocks 1, …, J are chosen together, and each sees points that depend on the centres of all of them
(layers in sequence that share their weights). Start with every Ŵ_j = 0, or the centre of its ball,
and repeat: compute all points with the present centres; if anywhere a map of some block j is
further than ε_j from that of its centre, correct that Ŵ_j with the point as it is now, as the
perceptron does. When nothing is left to correct, every block is within its ε_j at every point that
the final centres lead to.

*Steps.* A correction of block j lowers ‖W_j − Ŵ_j‖_F² by more than ε_j²/t_j, whatever the point is
and whatever became of the other blocks (``covers.spherical``; t = 1 for one output, scores and
logits). So block j is corrected at most K_j = ⌈t_j(B_j/ε_j)²⌉ − 1 times.

*Words.* Which points there are depends on the data and on the corrections so far. So the final
centres are a function of the word of corrections, of which each is one of A_j letters: block j, the
evaluation (example, layer, row), the line and the sign. Words with k_j ≤ K_j letters of block j:

    Σ_k multinomial(k) ∏ A_j^{k_j}  ≤  Σ_k ∏ C(K_j, k_j) (J·A_j)^{k_j}  =  ∏_j (1 + J·A_j)^{K_j},

as multinomial(k) ≤ J^{k_1+…+k_J}. So each block pays for itself: log N_j = K_j log(1 + J·A_j). If
some of the J are covered uniformly instead, before the others, fewer are left, and this is more
than enough. That the order of corrections counts is what it costs: K log A, not log D(A/2, K).

*Members for centres.* A member W* with the same word as W sees other points than Ŵ does. But W and
W* are both within ε_j of Ŵ at the points that Ŵ leads to, and there the networks f_W and f_W* are
compared with that of Ŵ (``calculus.compose``): f_W and f_W* differ by 2Σβ_jε_j or less. So the
cover at ε_j/2 stands for one by members at ε_j, as it does on given points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from dudley.classes.covers.base import COVERS, Cover, CoverProblem
from dudley.classes.covers.perceptron import by_column_norms, points
from dudley.classes.directions import Directions, lines, worth_trying
from dudley.classes.ratio import Ratio
from dudley.core.entropy import Scope


@COVERS.register("adaptive")
@dataclass(frozen=True)
class Adaptive(Cover):
    """Corrections in sequence: of one output, a score, a logit, or a row along one of m_t lines.

    log N ≤ min_t (⌈t(B_F/ε)²⌉ − 1)·log(1 + 2J·N·m_t), N the number of evaluations of all uses of
    the block, J the number of blocks that are chosen together.
    """

    evaluations: float  # per example
    together: int
    choices: Directions
    name = "adaptive"
    scope = Scope.ADAPTIVE
    latex = (
        r"\log N(\varepsilon)\le\min_t\bigl(\lceil t\,\|W\|_F^2/\varepsilon^2\rceil-1\bigr)"
        r"\log(1+2J\,N\,m_t)"
    )
    citation = "perceptron cover, points recomputed after each step"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        b = problem.shape[1]
        evaluations = {"bilinear": problem.pairs, "logits": problem.rows * b}
        choices = lines(b) if problem.form == "linear" else lines(1)
        if problem.together:
            yield cls(
                problem.deviation["fro"],
                False,
                evaluations.get(problem.form, problem.rows),
                problem.together,
                worth_trying(choices),
            )

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        log_words = []
        for t, log_m in self.choices:
            log_letters = math.log(2 * self.together * points(log_n, self.evaluations)) + log_m
            K = ratio.ceil_square(t) - 1
            with np.errstate(divide="ignore"):
                log_K = np.where(np.isfinite(K), np.log(K), 2 * ratio.log + math.log(t))
            log_words.append(log_K + math.log(np.logaddexp(0.0, log_letters)) + 1e-12)
        return np.minimum.reduce(log_words)


@COVERS.register("adaptive-col21")
@dataclass(frozen=True)
class AdaptiveCol21(Cover):
    """Corrections in sequence for columns of bounded total norm, whose norms are rounded first.

    As for ``perceptron-col21``, with a letter for each point, column and sign:
    log N ≤ (1 + b/q)² (B/ε)² log(1 + 2J·N·b) + log C(b+q, b).
    """

    columns: int
    rows: float
    together: int
    name = "adaptive-col21"
    scope = Scope.ADAPTIVE
    latex = (
        r"\log N(\varepsilon)\le\min_q(1+b/q)^2(B/\varepsilon)^2\log(1+2J\,N\,b)"
        r"+\log\tbinom{b+q}{b}"
    )
    citation = "perceptron cover, sum of column norms, points recomputed after each step"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        if problem.together and problem.form != "bilinear":
            b = problem.shape[1]
            yield cls(problem.deviation["col21"], False, b, problem.rows, problem.together)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        letters = 2 * self.together * self.columns * points(log_n, self.rows)
        return by_column_norms(self.columns, math.log1p(letters), ratio)

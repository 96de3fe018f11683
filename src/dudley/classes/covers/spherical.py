"""Covers of Frobenius balls by a perceptron that corrects whole output rows.

D = W − Ŵ is what is left of W. While some input x, ‖x‖ ≤ 1, has ‖xD‖ > ε, take a unit vector v
of a fixed finite set with ⟨xD, v⟩ ≥ ‖xD‖/√t, and add (ε/√t) xᵀv to Ŵ. With s = ε/√t,

    ‖D‖_F²  falls by  2s⟨xD, v⟩ − s²‖x‖²‖v‖²  >  2s² − s²  =  ε²/t,

so there are fewer than t(B/ε)² steps from ‖D‖_F ≤ B on, at most K = ⌈t(B/ε)²⌉ − 1; and Ŵ/s is a
combination of the matrices xᵀv with integer coefficients of ℓ1 norm ≤ K. The vectors v lie on
m lines, both ways (``classes.directions``: log m ≈ (b/2) log t/(t−1), so that a step costs about
b/2 nats where column by column it takes b steps). Every t is valid at every ε; the best one of a
list is used. The centres may leave the ball.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from dudley.classes.counting import log_log_delannoy
from dudley.classes.covers.base import COVERS, Cover, CoverProblem
from dudley.classes.covers.perceptron import points
from dudley.classes.directions import Directions, lines, products, worth_trying
from dudley.classes.ratio import Ratio
from dudley.core.entropy import Scope


def fewest_words(
    choices: Directions, log_inputs: float, shape: tuple[int, int], ratio: Ratio
) -> np.ndarray:
    """log min_t log D(p, ⌈t(B/ε)²⌉ − 1), p the number of inputs times that of lines.

    A step costs b/2 nats or more. So from (B/ε)² = 2a·log(1 + 2B/ε) on, counting the ab parameters
    costs less; past that D is not computed, but (2p+1)^K, and for one t.
    """
    t, log_m = choices[0]
    log_step = math.log(np.logaddexp(log_inputs + log_m + math.log(2), 0.0))
    log_words = np.asarray(2 * ratio.log + math.log(t) + log_step + 1e-12)
    coarse = np.asarray(2 * ratio.log <= math.log(1000 + 16 * shape[0]))
    some = ratio.at(coarse)
    K = np.stack([some.ceil_square(t) - 1 for t, _ in choices])
    log_K = np.stack([2 * some.log + math.log(t) for t, _ in choices])
    log_p = np.array([[log_inputs + log_m] for _, log_m in choices])
    log_words[coarse] = log_log_delannoy(log_p, K, log_K).min(axis=0)
    return log_words


@COVERS.register("spherical")
@dataclass(frozen=True)
class Spherical(Cover):
    """Rows of b ≥ 2 outputs on N points: each step names a point and a direction of outputs.

    log N ≤ min_t log D(N·m_t, ⌈t(B_F/ε)²⌉ − 1), m_t lines of R^b within stretch t.
    """

    shape: tuple[int, int]
    rows: float
    choices: Directions
    name = "spherical"
    scope = Scope.POINTS
    latex = (
        r"\log N(\varepsilon)\le\min_t\log D\bigl(N\,m_t,"
        r"\lceil t\,\|W\|_F^2/\varepsilon^2\rceil-1\bigr)"
    )
    citation = "perceptron cover by directions (repairs edelman2021, Lemma 4.5)"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        b, bound = problem.shape[1], problem.deviation["fro"]
        if problem.form == "linear" and b > 1:
            yield cls(bound, False, problem.shape, problem.rows, worth_trying(lines(b)))

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        log_points = math.log(points(log_n, self.rows))
        return fewest_words(self.choices, log_points, self.shape, ratio)


@COVERS.register("spherical-uniform")
@dataclass(frozen=True)
class SphericalUniform(Cover):
    """All inputs at once: each step names a direction of inputs and one of b ≥ 2 outputs.

    While σ = op(D) > ε, with top singular vectors u and z: some u' of the lines of R^a has
    ⟨u, u'⟩ ≥ 1/√t, so ‖u'ᵀD‖ ≥ σ⟨u, u'⟩ ≥ σ/√t; and some v of the lines of R^b has
    u'ᵀDv ≥ σ/√(tt'). The step ε/√(tt')·u'vᵀ lowers ‖D‖_F² by more than ε²/(tt'), so
    log N ≤ min log D(m_t·m_t', ⌈tt'(B_F/ε)²⌉ − 1). For logits v is the unit vector of an output,
    with t' = 1: while a column D_j is longer than ε, ⟨u', D_j⟩ ≥ ‖D_j‖/√t.
    """

    shape: tuple[int, int]
    choices: Directions
    name = "spherical-uniform"
    scope = Scope.UNIFORM
    latex = (
        r"\log N(\varepsilon)\le\min_{t,t'}\log D\bigl(m_t\,m_{t'},"
        r"\lceil t\,t'\,\|W\|_F^2/\varepsilon^2\rceil-1\bigr)"
    )
    citation = "perceptron cover by directions of inputs and outputs"

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        a, b = problem.shape
        outputs = ((1.0, math.log(b)),) if problem.form == "logits" else lines(b)
        if b > 1:
            choices = worth_trying(products(lines(a), outputs))
            yield cls(problem.deviation["fro"], False, problem.shape, choices)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        return fewest_words(self.choices, 0.0, self.shape, ratio)

"""Zhang's cover, the one the papers use; the perceptron cover is never larger."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from dudley.classes.covers.base import COVERS, Cover, CoverProblem
from dudley.classes.covers.perceptron import points
from dudley.classes.ratio import Ratio
from dudley.core.entropy import Scope


@COVERS.register("zhang")
@dataclass(frozen=True)
class Zhang(Cover):
    """Each of b output coordinates by Zhang's theorem, at resolution ε/√b.

    log N ≤ 36 b²(B/ε)² log(2⌈4√b·B/ε + 2⌉N + 1), B the largest column norm (b = 1: vectors;
    for logits no √b is lost and the factor is 36 b).

    Reference: edelman2021, Lemma A.10 (T. Zhang, 2002, Theorem 4) and Lemma 4.5 repaired.
    """

    columns: int
    rows: float
    split: float
    name = "zhang"
    scope = Scope.POINTS
    latex = (
        r"\log N(\varepsilon)\le 36\,b^2(B/\varepsilon)^2"
        r"\log(2\lceil 4\sqrt b B/\varepsilon+2\rceil N+1)"
    )
    citation = "edelman2021, Lemma A.10 (Zhang 2002, Theorem 4)"
    dominated = True  # D(N, K) ≤ (2N+1)^K: by perceptron-columns

    @classmethod
    def of(cls, problem: CoverProblem) -> Iterator[Self]:
        b = problem.shape[1]
        split = 1.0 if problem.form == "logits" else float(b)
        yield cls(problem.deviation["col2inf"], False, b, problem.rows, split)

    def log_entropy(self, ratio: Ratio, log_n: float) -> np.ndarray:
        log_cells = np.logaddexp(ratio.log + math.log(4 * math.sqrt(self.split)), math.log(3.0))
        log_points = math.log(points(log_n, self.rows))
        factor = np.log(np.logaddexp(math.log(2) + log_cells + log_points, 0))
        return math.log(36 * self.columns * self.split) + 2 * ratio.log + factor + 1e-12

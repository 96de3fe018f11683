"""The nine cells of mwigo2026's experiments: where the printed complexity is negative.

>>> from dudley.theorems.registry import evaluate
>>> values = [evaluate("mwigo2026/lemma-2", cell.inputs(), "printed").value for cell in CELLS]
>>> all(value < -100 for value in values)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

TOKENS = 13  # 28·28 pixels in tokens of 64


@dataclass(frozen=True)
class ExperimentCell:
    """d_m and N of one cell; d = 64, T = 13, expected LeCun norms, every R and R_X equal to 1.

    E‖W⁰‖_F² = d_m for the matrices (d_m·d entries of variance 1/d), and E‖w⁰‖² = 1. A Rademacher
    complexity is at least 0, since for any member f the mean of Σε_i f(x_i) is 0.
    """

    d_m: int
    N: int

    def inputs(self) -> dict[str, float]:
        """For Lemma 2."""
        η = math.sqrt(self.d_m) + 1
        sizes = {"n": self.N, "T": TOKENS, "d": 64, "k": self.d_m}
        norms = {"W_Q.fro": η, "W_K.fro": η, "W_v.fro": η, "w.l2": 2.0}
        return sizes | norms | {"X.fro": math.sqrt(TOKENS)}


CELLS = tuple(ExperimentCell(d_m, N) for d_m in (64, 1024, 4096) for N in (400, 1200, 10_000))

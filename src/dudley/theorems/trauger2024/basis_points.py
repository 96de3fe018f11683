"""Lemma 3.2: on an ℓ1 ball the basis vectors are the hardest points; and covers built on them.

If ‖(W − Ŵ)B_x e_i‖_q ≤ ε for every i then for ‖x‖₁ ≤ B_x

    q ≥ 1:  ‖(W − Ŵ)x‖_q ≤ Σ|x_i|/B_x · ε ≤ ε,
    q < 1:  ‖(W − Ŵ)x‖_q^q ≤ Σ(|x_i|/B_x)^q ε^q ≤ d^{1−q}ε^q,   so the error is ≤ d^{1/q−1}ε,

and d^{1/q−1} is attained: the printed equality of covering numbers needs the triangle inequality.

>>> from dudley.theorems.registry import evaluate
>>> values = {"d": 2, "output.q": 0.5, "epsilon": 1.0}
>>> [evaluate("trauger2024/lemma-3.2", values, form).value for form in ("printed", "derived")]
[1.0, 2.0]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dudley.core.entropy import Entropy
from dudley.core.errors import InputError
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Extent, Repair, Verdict
from dudley.theorems.registry import register


@dataclass(frozen=True)
class OnBasis(Entropy):
    """A cover on the d basis vectors, which by Lemma 3.2 serves every input of ℓ1 norm ≤ 1.

    So a cover that depends on the points becomes one of uniform scope, with d in place of n.
    """

    inner: Entropy
    d: int

    @property
    def log_radius(self) -> float:
        return self.inner.log_radius

    @property
    def uses_points(self) -> bool:
        return False

    def log_log(self, log_ε: ArrayLike, log_n: float | None = None) -> np.ndarray:
        return self.inner.log_log(log_ε, math.log(self.d))

    def unit(self) -> OnBasis:
        return OnBasis(self.inner.unit(), self.d)

    def proper(self) -> OnBasis:
        return OnBasis(self.inner.proper(), self.d)


def resolution(d: float, output_q: float, epsilon: float) -> float:
    if output_q == 0:
        raise InputError("output.q", "a number > 0", output_q)
    return epsilon * d ** max(0.0, 1 / output_q - 1)


LEMMA_3_2 = register(
    Statement(
        id="trauger2024/lemma-3.2",
        kind="lemma",
        says="A cover on the scaled basis vectors is a cover on the whole ℓ1 ball.",
        quantity="resolution on the ℓ1 ball of a cover with resolution ε on the basis",
        inputs=(Input("d"), Input("output.q", aliases=("q",)), Input("epsilon")),
        printed=Form(
            r"N_\infty(F,\varepsilon,N,\|\cdot\|_q)"
            r"=N_\infty(F,\varepsilon,\{B_xe_i\},\|\cdot\|_q),\quad q>0",
            lambda epsilon: epsilon,
        ),
        derived=Form(
            r"N_\infty(F,d^{(1/q-1)^+}\varepsilon,N,\|\cdot\|_q)"
            r"\le N_\infty(F,\varepsilon,\{B_xe_i\},\|\cdot\|_q)",
            resolution,
        ),
        verdict=Verdict.false(Repair.HYPOTHESIS, Extent.EDGE),
        erratum=(
            "True for q ≥ 1, which is all that the paper uses. Section 2.4 allows every q > 0, and "
            "below 1 the triangle inequality fails: for q = 1/2 the zero map 1-covers the identity "
            "of R² on e₁ and e₂, yet ‖(1/2, 1/2)‖_q = 2. N ≥ d is needed for the equality only."
        ),
        example={"d": 64, "output.q": 2.0, "epsilon": 0.5},
    )
)

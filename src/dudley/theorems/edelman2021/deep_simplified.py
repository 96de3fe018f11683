"""Theorem 4.6, the simplified form of Theorem A.17.

>>> from dudley.theorems.registry import evaluate, load
>>> example = load()["edelman2021/theorem-4.6"].example
>>> five, six = (evaluate("edelman2021/theorem-4.6", {**example, "L": L}).value for L in (5, 6))
>>> six / five > 25  # (1 + 4C₂)² for one more layer, at unit spectral norms
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.binding import bundled
from dudley.core.bound import Bound, Sense
from dudley.core.magnitude import Magnitude
from dudley.core.statement import Form, Input, Statement
from dudley.core.verdict import Repair, Verdict
from dudley.theorems.edelman2021.common import (
    HIDDEN,
    RADIUS,
    READOUT,
    RESOLUTION,
    SAMPLES,
    SLOPE,
    TOKENS,
)
from dudley.theorems.edelman2021.deep import ASSUMPTIONS, QUANTITY, Deep
from dudley.theorems.registry import register


@dataclass(frozen=True)
class Simplified:
    """One spectral bound C₂ and one (2,∞) bound C_∞ for all matrices of all layers, k = d."""

    d: int
    L: int
    n: float
    T: int
    X_row2inf: float
    sigma_lipschitz: float
    W_op: float
    W_col2inf: float
    w_l2: float
    epsilon: float
    c: float
    c_exponent: float

    def printed(self) -> Bound:
        """The hidden exponent O(L) is read as c.exponent·L."""
        depth = Magnitude.of(self.W_op * self.sigma_lipschitz) ** max(self.c_exponent * self.L, 0.0)
        size = Magnitude.of(self.d) * self.X_row2inf * self.w_l2 * self.W_col2inf / self.epsilon
        value = depth * size**2 * (self.c * math.log(self.n * self.T))
        return Bound(float(value.log), quantity=QUANTITY, sense=Sense.CONSTANT)

    @property
    def full(self) -> Deep:
        """The class of Theorem A.17 that this one is."""
        op, inf = self.W_op, self.W_col2inf
        return Deep(
            self.d, self.d, self.L, self.n, self.T, self.X_row2inf, self.sigma_lipschitz,
            op, inf, op, inf, op, inf, self.w_l2, self.epsilon, self.c,
        )  # fmt: skip

    def derived(self) -> Bound:
        return self.full.derived()

    def best(self) -> Bound:
        return self.full.best()


register(
    Statement(
        id="edelman2021/theorem-4.6",
        kind="theorem",
        says="Deep Transformers: log T, d², and one factor for each layer.",
        quantity=QUANTITY,
        inputs=(
            Input("d"), Input("L"), SAMPLES, TOKENS, RADIUS, SLOPE,
            Input("W.op", "largest spectral norm of W_QK, W_v, W_c in any layer", aliases=("C_2",)),
            Input(
                "W.col2inf",
                "largest column norm of W_v and W_c, and row norm of W_QK, in any layer",
                aliases=("C_inf",),
            ),
            READOUT, RESOLUTION, HIDDEN, Input("c.exponent", default=1.0),
        ),
        printed=Form(
            r"c(C_2L_\sigma)^{O(L)}\frac{d^2B_X^2B_w^2C_\infty^2}{\varepsilon^2}\log(mT)",
            bundled(Simplified)(Simplified.printed),
            Sense.CONSTANT,
        ),
        derived=Form(
            r"\text{Theorem A.17 repaired, }\alpha_i=\bigl(L_\sigma C_2^2(1+4C_2)\bigr)^{L-i}",
            bundled(Simplified)(Simplified.derived),
        ),
        best=Form(r"\text{every cover, softmax constant }1", bundled(Simplified)(Simplified.best)),
        verdict=Verdict.undecided(Repair.WEAKER),
        erratum=(
            "Theorem A.17, once repaired, gives per layer a factor L_σC₂²(1+4C₂), squared: 25 and "
            "not 1 at C₂ = L_σ = 1, so unit spectral norms do not remove the exponential "
            "dependence on L; ‖W_QK‖ of order 1/L would. Its first layer sees tokens of norm B_X "
            "and contributes B_X⁶, not B_X². The class is named that of blocks, while the bound is "
            "for the scalar output; ‖X‖_{2,∞} is that of Xᵀ."
        ),
        example={
            "d": 16, "L": 3, "n": 10_000, "T": 128, "X.row2inf": 1.0, "sigma.lipschitz": 1.0,
            "W.op": 1.0, "W.col2inf": 1.0, "w.l2": 1.0, "epsilon": 0.1,
        },
        assumptions=ASSUMPTIONS,
    )
)  # fmt: skip

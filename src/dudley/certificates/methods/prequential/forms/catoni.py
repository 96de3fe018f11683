"""Catoni's form: fixed bets that need the sum of the losses alone.

**Formula.** With θ_j = 1 − e^{−λ_j}, the bound is B times the least p with

    Σ_j w_j exp(−λ_j Σ_t X_t) / (1 − θ_j p)^m ≥ 1/δ.

For one λ this is Catoni's bound at a divergence of 0: R̄ ≤ (1 − e^{−λX̄ − ln(1/δw)/m})/(1 − e^{−λ}).

**Proof of (*) in `form`.** e^{−λx} is convex in x, so e^{−λx} ≤ 1 − θx on [0, 1]. So each factor is
at most that of `mixture` with the same bet, and the rest is proved there. ∎

For losses 0 and 1 the two are equal, and else this form is the worse one. It is for logs of which
only the total is left.

References: Catoni, "PAC-Bayesian supervised classification", IMS Lecture Notes 56 (2007), theorem
1.2.6 for a single model.
"""

from __future__ import annotations

import math

import numpy as np

from dudley.certificates.methods.prequential.form import FORMS
from dudley.certificates.methods.prequential.forms.mixture import OFF, MixtureTally
from dudley.certificates.methods.prequential.grid import BETS


@FORMS.register("catoni")
class CatoniTally(MixtureTally):
    """Final: the sum of the losses, from above, times ln(1 − θ_j)."""

    name = "catoni"

    def __init__(self) -> None:
        super().__init__()
        self.total = 0.0

    def count(self, x: np.ndarray) -> None:
        self.total = math.nextafter(self.total + math.fsum(x.tolist()), math.inf)
        self.sums = np.log1p(-BETS) * (self.total * OFF)

"""The variance form: losses that vary little around a prediction of them.

**Formula.** X̂_t ∈ [0, 1] is the mean of the losses before unit t in the stretch (½ for the first),
ψ(λ) = −ln(1−λ) − λ, and V = Σ_t (X_t − X̂_t)². For λ_j ∈ (0, 1) with weights w_j that are fixed
before the stretch (`grid`), the bound is B times the least p with

    Σ_j w_j exp(λ_j (mp − Σ_t X_t) − ψ(λ_j) V) ≥ 1/δ.

For one λ this is p = X̄ + [ψ(λ)V + ln(1/δw)]/(λm).

**Proof of (*) in `form`.** ln(1+u) = u − u² ∫₀¹ (1−s)/(1+su)² ds, so (ln(1+u) − u)/u² grows with u.
For y ≥ −1 put u = λy ≥ −λ: ln(1+λy) ≥ λy − ψ(λ)y². With y = X̂_t − X_t ≥ −1 and the mean over X_t,

    E[exp(λ(X̂_t − X_t) − ψ(λ)(X_t − X̂_t)²) | the past] ≤ 1 + λ(X̂_t − R_t) ≤ exp(λ(X̂_t − R_t)).

So exp Σ_t (λ(R_t − X_t) − ψ(λ)(X_t − X̂_t)²) is a supermartingale that begins at 1. It depends on
the R_t through their sum mR̄ alone. ∎

References: Fan, Grama and Liu, "Exponential inequalities for martingales with applications",
Electronic Journal of Probability 20 (2015), and Howard, Ramdas, McAuliffe and Sekhon,
"Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49 (2021),
for the inequality; the proof above is complete.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.form import FORMS, Tally
from dudley.certificates.methods.prequential.grid import BETS, WEIGHTS

OFF = 1 + 2.0**-34  # a running mean of up to 2^16 sums at a time


@FORMS.register("variance")
class VarianceTally(Tally):
    """Final: Σ X_t, and Σ (X_t − X̂_t)², both from above."""

    name = "variance"

    def __init__(self) -> None:
        super().__init__()
        self.total, self.squares = 0.0, 0.0
        self.before = 0  # units in the sums

    def count(self, x: np.ndarray) -> None:
        sums = self.total + np.concatenate([[0.0], np.cumsum(x)])
        counts = self.before + np.arange(len(x))
        with np.errstate(invalid="ignore", divide="ignore"):
            predicted = np.where(counts == 0, 0.5, np.minimum(sums[:-1] / counts, 1.0))
        self.total = math.nextafter(self.total + math.fsum(x.tolist()), math.inf)
        squares = math.fsum(np.square(x - predicted).tolist()) * OFF
        self.squares = math.nextafter(self.squares + squares, math.inf)
        self.before += len(x)

    def exponents(self, p: float) -> np.ndarray:
        ψ = -np.log1p(-BETS) - BETS
        return np.log(WEIGHTS) + BETS * (self.m * p - self.total) - ψ * self.squares

    def exponents_ball(self, p: float, lines: np.ndarray) -> list[Any]:
        from flint import arb

        gap = self.m * arb(p) - self.total
        return [
            _line(arb(float(BETS[j])), arb(float(WEIGHTS[j])), gap, self.squares) for j in lines
        ]


def _line(λ: Any, w: Any, gap: Any, V: float) -> Any:
    return w.log() + λ * gap + ((1 - λ).log() + λ) * V

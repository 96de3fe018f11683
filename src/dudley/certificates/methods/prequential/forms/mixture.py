"""Fixed bets, mixed: the sharpest form, for losses of any kind in [0, B].

**Formula.** For bets θ_j ∈ (0, 1) with weights w_j that are fixed before the stretch (`grid`), the
bound is B times the least p with

    Σ_j w_j Π_t (1 − θ_j X_t) / (1 − θ_j p)^m ≥ 1/δ.

**Proof of (*) in `form`.** E[1 − θX_t | the past] = 1 − θR_t > 0, so the product of the quotients
(1 − θX_t)/(1 − θR_t) is a martingale M that begins at 1. ln(1 − θr) is concave in r, so by Jensen's
inequality Π_t (1 − θR_t) ≤ (1 − θR̄)^m, and e(R̄) = Σ ln(1 − θX_t) − m ln(1 − θR̄) ≤ ln M. ∎

Without any loss and for one bet near 1 this is 1 − (δw)^{1/m}. Bets must be fixed: those that adapt
to the past test whether *all* R_t are as large as p, and bound the least of them, not their mean.

**Rounding.** s_j is a float at or below Σ_t ln(1 − θ_j X_t), whose terms are all ≤ 0. Sixteen
factors are multiplied before a logarithm is taken; none is below 2^{−10}. The float of a factor is
within 2^{−53} of it, which is 2^{−53}/(1−θ) of itself at most, and a multiplication adds 2^{−53}:
together less than 2^{−52}/(1−θ) a unit, which is taken off. The logarithm of a float is within 4
units of 2^{−52}, relative to itself, and a sum of at most 4,096 terms within 2^{−41}. So 2^{−40} of
the sum is taken off, too.

References: Ville 1939; Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform Chernoff bounds via
nonnegative supermartingales", Probability Surveys 17 (2020); Cesa-Bianchi, Conconi and Gentile, "On
the generalization ability of on-line learning algorithms", IEEE Transactions on Information Theory
50 (2004), for risks of the models of a pass. The form with fixed bets is derived here.

>>> from dudley.certificates.methods.prequential.form import upper
>>> upper("mixture", np.zeros(100_000), -np.log(0.05))
4.522...e-05
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.form import FORMS, Tally
from dudley.certificates.methods.prequential.grid import BETS, WEIGHTS

TERMS = 4096  # units of a sum, before it is added to the others
TOGETHER = 16  # units of a product, before its logarithm is taken
OFF = 1 + 2.0**-40


@FORMS.register("mixture")
class MixtureTally(Tally):
    """Final: Σ_t ln(1 − θ_j X_t) for every bet, from below.

    Bets below ``least`` are left out, and their weight goes to the others.
    """

    name = "mixture"

    def __init__(self, least: float = 0.0) -> None:
        super().__init__()
        there = least <= BETS
        self.bets, self.weights = BETS[there], WEIGHTS[there]
        if not there.all():
            shares = self.weights / self.weights.sum() * (1 - 2.0**-48)
            self.weights = np.floor(shares * 2**53) / 2**53
        self.apart = 2.0**-52 / (1 - self.bets)
        self.sums = np.zeros(len(self.bets))

    def count(self, x: np.ndarray) -> None:
        x = x[x > 0]
        x = np.append(x, np.zeros(-len(x) % TOGETHER)).reshape(TOGETHER, -1)
        for first in range(0, x.shape[1], TERMS // TOGETHER):
            part = x[:, first : first + TERMS // TOGETHER]
            factors = 1 - np.multiply.outer(self.bets, part)  # bets × together × parts
            logs = np.log(factors.prod(axis=1)).sum(axis=1)
            self.sums = np.nextafter(self.sums + logs * OFF - part.size * self.apart, -np.inf)

    def worsen(self, units: int) -> None:
        """A factor in [1 − θ, 1] becomes 1 − θ: each unit lowers s_j by at most −ln(1 − θ_j)."""
        self.sums = np.nextafter(self.sums + units * np.log1p(-self.bets) * OFF, -np.inf)

    def exponents(self, p: float) -> np.ndarray:
        return np.log(self.weights) + self.sums - self.m * np.log1p(-self.bets * p)

    def exponents_ball(self, p: float, lines: np.ndarray) -> list[Any]:
        from flint import arb

        return [
            arb(float(self.weights[j])).log()
            + float(self.sums[j])
            - self.m * (1 - arb(float(self.bets[j])) * p).log()
            for j in lines
        ]

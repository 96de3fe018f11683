"""Catoni's form (Catoni 2007, Theorem 1.2.6), λ from a grid that is paid for.

    L(Q) ≤ (1 − e^{−λ L̂(Q) − (KL(Q‖P) + ln(1/δ))/n}) / (1 − e^{−λ})       for one λ > 0 fixed before

Proof: for one h with n independent 0–1 losses, E e^{−λ n L̂(h)} = (1 − (1 − e^{−λ})L(h))^n; for
losses in [0, 1] it is at most that. So E_P e^{n(Φ(L(h)) − λL̂(h))} has mean ≤ 1 over the data, with
Φ(p) = −ln(1 − (1 − e^{−λ})p), convex; Markov, the change of measure to Q and Jensen give
Φ(L(Q)) ≤ λL̂(Q) + (KL + ln(1/δ))/n.

λ = 2^{j/2} with j from −20 to 20, at the price of the prefix grid (`dudley.calculus.union`). Unlike
the kl form there is no ln ξ(n): at L̂ = 0 a large λ gives almost 1 − e^{−nats/n}.

>>> Catoni().bound(0.0, 10.0, 1000, option=8)
0.00995...
"""

from __future__ import annotations

import math

from dudley.calculus.union import Grid
from dudley.certificates.methods.pac_bayes.form import FORMS, PacBayesForm
from dudley.certificates.price import Price
from dudley.core.errors import InputError
from dudley.core.rounding import up

GRID, LARGEST = Grid(), 20


class Catoni(PacBayesForm):
    """Final: Catoni's form."""

    name = "catoni"

    def bound(self, q, nats, n, option=0):
        λ = self.parameter(option)
        exponent = float(up(λ * q + nats / n))
        return min(1.0, float(up(math.expm1(-exponent) / math.expm1(-λ), 8)))

    def options(self):
        return range(-LARGEST, LARGEST + 1)

    def price(self, option):
        self.parameter(option)
        return Price("λ of Catoni's form", float(up(GRID.nats(option))), f"2^({option}/2)")

    def parameter(self, option: int) -> float:
        """λ."""
        if not isinstance(option, int) or abs(option) > LARGEST:
            raise InputError("exponent of λ", f"an integer from −{LARGEST} to {LARGEST}", option)
        return GRID.ratio**option


FORMS.register(Catoni.name)(Catoni())

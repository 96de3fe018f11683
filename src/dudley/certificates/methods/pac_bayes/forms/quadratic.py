"""The quadratic form (Rivasplata, Tankasali and Szepesvári 2019; Pérez-Ortiz et al. 2021).

    L(Q) ≤ (√(L̂(Q) + κ) + √κ)²,      κ = (KL(Q‖P) + ln(ξ(n)/δ)) / 2n

Proof: the kl form, and kl(q‖p) ≥ (p − q)²/2p for q ≤ p: so p − 2√κ·√p − q ≤ 0, solved for √p. It is
never below the kl form, and differentiable in closed form. They print 2√n for ξ(n).

>>> from dudley.certificates.methods.pac_bayes.forms.kl import KL
>>> KL().bound(0.01, 10.0, 1000) < Quadratic().bound(0.01, 10.0, 1000)
True
"""

from __future__ import annotations

import math

from dudley.certificates.methods.pac_bayes.form import FORMS, PacBayesForm
from dudley.certificates.methods.pac_bayes.forms.kl import log_xi
from dudley.core.rounding import up


class Quadratic(PacBayesForm):
    """Final: the quadratic form."""

    name = "quadratic"

    def bound(self, q, nats, n, option=0):
        κ = float(up((nats + log_xi(n)) / (2 * n)))
        return min(1.0, float(up((math.sqrt(q + κ) + math.sqrt(κ)) ** 2, 12)))


FORMS.register(Quadratic.name)(Quadratic())

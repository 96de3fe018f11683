"""The kl form (Seeger 2002; Maurer 2004, Theorem 5), with its constant computed, not bounded.

    kl(L̂(Q)‖L(Q)) ≤ (KL(Q‖P) + ln(ξ(n)/δ)) / n,      ξ(n) = Σ_k C(n,k) (k/n)^k (1 − k/n)^{n−k}

Proof: for one h with n independent 0–1 losses, E e^{n·kl(L̂(h)‖L(h))} = ξ(n) whatever L(h) ∈ (0, 1),
since an outcome of probability C(n,k) p^k (1−p)^{n−k} weighs (k/np)^k ((n−k)/n(1−p))^{n−k}; for
losses in [0, 1] it is at most that (convexity). So E_P of it has a mean ≤ ξ(n) over the data;
Markov bounds it by ξ(n)/δ, the change of measure from P to Q costs KL(Q‖P), and kl is convex in its
pair. Maurer bounds ξ(n) ≤ 2√n for n ≥ 8; ξ(n) itself is about √(πn/2) + 2/3, .47 nats less, and
holds for n ≥ 1. By Abel's identity

    ξ(n) = Σ_{j=0}^{n} Π_{i<j} (1 − i/n),

whose terms fall faster than e^{−j(j−1)/2n}.

>>> round(xi(1), 6), round(xi(2), 6), xi(10_000) < 2 * 100
(2.0, 2.5, True)
>>> KL().bound(0.0, 10.0, 1000)
0.0136...
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dudley.calculus.inversion import kl_upper
from dudley.certificates.methods.pac_bayes.form import FORMS, PacBayesForm
from dudley.core.constraint import size_of
from dudley.core.rounding import up


@lru_cache(maxsize=256)
def xi(n: int) -> float:
    """ξ(n), from above: √(80n) terms, then a geometric series over the rest."""
    size_of("n", n)
    J = min(n, math.isqrt(80 * n) + 2)
    terms = np.cumprod(1 - np.arange(J) / n)  # terms 1 … J; term 0 is 1
    rest = terms[-1] * (n / J) if n > J else 0.0
    return float(up(1 + math.fsum(terms) + rest, 4 * J + 8))


def log_xi(n: int) -> float:
    """ln ξ(n), from above."""
    return float(up(math.log(xi(n))))


class KL(PacBayesForm):
    """Final: the kl form."""

    name = "kl"

    def bound(self, q, nats, n, option=0):
        return kl_upper(q, float(up((nats + log_xi(n)) / n)))


FORMS.register(KL.name)(KL())

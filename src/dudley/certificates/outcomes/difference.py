"""Old against new on the same examples: an upper bound on the difference of their mean losses.

For losses ℓ_new, ℓ_old on the same row let θ = E[ℓ_new − ℓ_old]. A new model is *not worse by more
than m* if θ ≤ m; m is declared. (A test of equality, such as McNemar's, does not say so.)

**Errors: exact binomials.** Let M rows be discordant (one model errs and the other does not), and
on b of them the new one errs. With π = P[discordant] and q = P[new errs | discordant],

    θ = π(2q − 1),       θ ≤ U = π̄ · (2q̄ − 1)      where

q̄ is Clopper and Pearson's upper bound from b of M at .9 δ′, and π̄ their upper bound from M of n if
2q̄ − 1 > 0, else their lower bound, each at .05 δ′.

**Proof.** M is binomial in n and π; given M, b is binomial in M and q. So q ≤ q̄ and π between its
two bounds, except with probability .9 δ′ + .1 δ′. Then θ ≤ π(2q̄ − 1), which grows with π if
2q̄ − 1 > 0 and else falls. ∎  For 60 and 60 discordant rows of 2,000 U is 2.26
standard errors from 0, where a normal approximation says 1.64; of 100 times the rows it is 1.75.

**Other losses, and means of units: fixed bets.** (1 + ℓ_new − ℓ_old)/2 lies in [0, 1] and has the
mean (1 + θ)/2, so U = 2·(bound by `mean`) − 1.

The lower bound is minus the upper one with the models exchanged.

>>> new, old = np.r_[np.ones(4), np.zeros(996)], np.r_[np.zeros(4), np.ones(16), np.zeros(980)]
>>> float((new - old).mean()), round(difference_upper(LossQuestion(new, True, 3.0), old), 5)
(-0.012, -0.00181)
"""

from __future__ import annotations

import math

import numpy as np

from dudley.calculus.inversion import binomial_lower, binomial_upper
from dudley.certificates.outcomes.mean import mean_upper
from dudley.certificates.outcomes.question import LossQuestion
from dudley.core.rounding import up

DISCORDANT, RATE = 0.9, 0.05  # of δ′: for q, and for each end of π
ROUNDED = 2.0**-48  # more than what rounds a difference of losses, its half and its double


def difference_upper(question: LossQuestion, old: np.ndarray) -> float:
    """U for the question's losses, which are the new model's, against the old model's."""
    new = question.losses
    if question.errors and question.units is None:
        return discordant_upper(*discordant(new, old), len(new), question.c)
    z = (1 + (new - old)) / 2
    draws = z if question.units is None else question.units.draws(z)
    return min(1.0, 2 * mean_upper(draws, question.c, False) - 1 + ROUNDED)


def difference_lower(question: LossQuestion, old: np.ndarray) -> float:
    """The lower bound on the difference."""
    swapped = LossQuestion(old, question.errors, question.c, question.units)
    return -difference_upper(swapped, question.losses)


def discordant(new: np.ndarray, old: np.ndarray) -> tuple[int, int]:
    """b, the rows on which only the new model errs, and those on which only the old one does."""
    return int(((new == 1) & (old == 0)).sum()), int(((new == 0) & (old == 1)).sum())


def discordant_upper(b: int, c: int, n: int, nats: float) -> float:
    """U from b rows on which only the new model errs and c on which only the old one does."""
    M, rate = b + c, up(nats - math.log(RATE))
    high = binomial_upper(M, n, rate)
    if M == 0:
        return high
    q = binomial_upper(b, M, up(nats - math.log(DISCORDANT)))
    slope = math.nextafter(2 * q - 1, math.inf)
    π = high if slope > 0 else binomial_lower(M, n, rate)
    return min(1.0, math.nextafter(π * slope, math.inf))

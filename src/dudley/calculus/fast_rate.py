"""Fast rate: one cover, a union over its centres, and a tail that knows the training error.

Let f̂_1, …, f̂_N be fixed functions that come within ε of every f of a class, on *all* inputs of the
stated radius: a cover of uniform scope. (A cover on points is another one on each sample, so its
centres are no fixed functions.) A function trained to the share or mean q is near one of them, and

    c = log N(ε) + ln(1/δ) + nats paid for choices.

* *Margins.* Let |margin of f − margin of f̂| ≤ t < γ/2. A margin of f at most 0 makes that of f̂ at
  most t, and where that happens on a training example the margin of f there is at most 2t < γ.
  So, with probability at least 1 − δ over the sample, for all f at once,

      P(margin ≤ 0) ≤ p(k, c),   k = number of training examples with margin below γ,

  p(k, c) the largest p with P[Bin(n, p) ≤ k] ≥ e^{−c}. As γ is fixed before, so is ε; another
  resolution cannot help: t as large as possible is best. p ≤ max{p : kl(k/n‖p) ≤ c/n}.

* *Losses* in [0, b], L-Lipschitz. With q the mean of ℓ(f) over the sample, that of ℓ(f̂) is at most
  q + Lε, and E ℓ(f) ≤ E ℓ(f̂) + Lε; Hoeffding's inequality in its kl form gives

      E ℓ(f) ≤ b·max{p : kl((q + Lε)/b ‖ p) ≤ c/n} + Lε.

  The best ε depends on q, so all of a list of resolutions hold at once: it is fixed here, and each
  of its entries costs the log of its length.

*Proof.* For one centre the count or mean is one of n independent draws, and the inequality fails
for it with probability at most e^{−c}; N centres, and what was paid for, are a union bound.

At q = 0 the first is 1 − e^{−c/n} ≤ c/n: the rate 1/n, where complexities give 1/√n.

This bound and that by complexities hold with probability 1 − δ each. Who takes the smaller of the
two after seeing q must halve δ for both, or have chosen which one before.

>>> margins(0.0, 0.05, 2000.0), margins(0.01, 0.05, 2000.0)  # 20 examples for each nat
(0.04877..., 0.07688...)
"""

from __future__ import annotations

import math

import numpy as np

from dudley.calculus.inversion import binomial_upper, kl_upper
from dudley.core.constraint import radius_of
from dudley.core.errors import InputError
from dudley.core.rounding import up

COUNTED = 10**6  # up to so many examples errors are counted; beyond, the kl form is as good
STEP = 1 - 2.0**-30  # a margin moves by less than half of γ
SCALES = 2.0 ** (-0.5 * np.arange(1, 41))  # resolutions Lε/b of which the best is taken
LISTED = math.log(len(SCALES))  # what this choice costs, in nats
TOO_MANY = 700.0  # nats an example, at which nothing is known


def expect_share(train_error: float, largest: float) -> float:
    """A training error or loss as a float in [0, largest]."""
    q = float(radius_of("train_error", train_error))
    if q > largest:
        raise InputError("train_error", f"a number in [0, {largest:g}]", train_error)
    return q


def margins(q: float, share: float, n: float) -> float:
    """An upper bound on P(margin ≤ 0): q of n margins are below γ; ``share`` is c/n at γ/2."""
    whole = round(n) if n <= COUNTED else 0
    if whole == 0 or abs(n - whole) > 1e-9 * n or not share < TOO_MANY:
        return mean(q, share)
    return binomial_upper(min(math.ceil(q * whole - 1e-6), whole), whole, up(share * whole))


def mean(q: float, share: float) -> float:
    """max{p : kl(q‖p) ≤ share}, rounded up."""
    return kl_upper(min(q, 1.0), share) if share < TOO_MANY else 1.0


def losses(q: float, shares: np.ndarray, b: float = 1.0) -> tuple[float, int]:
    """An upper bound on the mean loss, and which of ``SCALES`` gives it: ``shares`` are c/n there.

    They have the log of the length of the list in them, ``LISTED``.
    """
    best, place = math.inf, len(SCALES) - 1
    for i, (scale, share) in enumerate(zip(SCALES.tolist(), shares.tolist(), strict=True)):
        if q / b + 2 * scale < best:  # what it is at least
            value = mean(up(q / b + scale), share) + scale
            best, place = (value, i) if value < best else (best, place)
    return b * up(best), place

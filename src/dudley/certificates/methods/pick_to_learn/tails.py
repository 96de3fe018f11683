"""Binomial tails beside their last term: P[Bin(n, p) ≤ k] = P[Bin(n, p) = k] · T(k, n, p).

    T(k, n, p) = 1 + r_k + r_k r_{k−1} + … + r_k ⋯ r_1,    r_i = i (1−p) / ((n−i+1) p),

since P[Bin = i−1] = r_i · P[Bin = i]. The ratios fall with i. So once a ratio r is below 1, what is
left of the sum after a term t is at most t · r/(1−r), and about √k terms are enough near p = k/n.

``falling`` and ``log_mass`` are floats, good enough for a candidate. ``falling_ball`` and
``log_mass_ball`` enclose the true number (python-flint's Arb): they are what a proof may use.

>>> round(falling(1, 3, 0.5), 12)                     # 1/8 and 3/8: P[≤ 1] = 3/8 · (1 + 1/3)
1.333333333333
>>> from flint import arb
>>> bool((falling_ball(1, 3, arb(0.5)) - arb(4) / 3).contains(0))
True
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

PRECISION = 128
BLOCK = 1024  # terms that are summed at a time


def falling(k: int, n: int, p: float) -> float:
    """T(k, n, p), about; infinity where a float cannot hold it."""
    total, term, i = 1.0, 1.0, k
    with np.errstate(over="ignore", invalid="ignore"):
        while i > 0 and math.isfinite(total):
            block = np.arange(i, max(i - BLOCK, 0), -1, dtype=float)
            ratios = block * (1 - p) / ((n - block + 1) * p)
            terms = term * np.cumprod(ratios)
            total, term, i = total + float(terms.sum()), float(terms[-1]), i - BLOCK
            if term < 1e-18 * total and ratios[-1] < 1:
                break
    return total if math.isfinite(total) else math.inf


def log_mass(k: int, n: int, p: float) -> float:
    """ln P[Bin(n, p) = k] for 0 < p < 1, about."""
    return log_choose(n, k) + k * math.log(p) + (n - k) * math.log1p(-p)


def log_choose(n: int, k: int) -> float:
    """ln C(n, k), about."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def falling_ball(k: int, n: int, p: Any) -> Any:
    """T(k, n, p) for a ball p in (0, 1), enclosed; the precision is the caller's context."""
    from flint import arb

    total = term = arb(1)
    odds, small = (1 - p) / p, arb(2) ** -80
    for i in range(k, 0, -1):
        ratio = i * odds / (n - i + 1)
        term *= ratio
        total += term
        if ratio < 1 and term < total * small:
            return total + term * ratio / (1 - ratio) * arb(0.5, 0.5)  # between none and all of it
    return total


def log_mass_ball(k: int, n: int, p: Any) -> Any:
    """ln P[Bin(n, p) = k] for a ball p in (0, 1), enclosed."""
    return log_choose_ball(n, k) + k * p.log() + (n - k) * (1 - p).log()


def log_choose_ball(n: int, k: int) -> Any:
    """ln C(n, k), enclosed."""
    from flint import arb

    return arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()

"""Excess risks in expectation, exactly: three problems in which every sample can be summed over.

Each returns the expected excess risk of an empirical risk minimiser. Where several minimisers tie,
a bound for *every* minimiser must hold for the worst of them: ``ties="worst"``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.theorems.witness.lower import LowerBound

SUMMED, DRAWN = 2e8, 50_000  # steps of the occupancy recursion, and draws
SAMPLES = 200_000  # samples, up to order, that are enumerated
_LOST = 1e-9  # relative, for the rounding of probabilities


def constants(n: int, h: float, ties: str = "worst") -> LowerBound:
    """Constants in [−1, 1], absolute loss, labels ±1 with P(Y = 1) = ½ + h: E exc of a minimiser.

    R(c) = 1 − 2hc, and the minimiser is the majority of the labels, so
    E exc = 4h·P(Bin(n, ½ + h) < n/2) + (4h·P(tie) at worst, 0 at best).

    >>> print(constants(1, 0.25))                           # wrong with probability ¼, costs 1
    at least 0.25 (majority of 1 labels)
    """
    from scipy.stats import binom

    size_of("n", n)
    if not 0 <= h <= 0.5:
        raise InputError("h", "a number in [0, ½]", h)
    wrong = binom.cdf((n - 1) // 2, n, 0.5 + h)
    tie = _share(ties) * (binom.pmf(n // 2, n, 0.5 + h) if n % 2 == 0 else 0.0)
    return LowerBound(float(4 * h * (wrong + tie)) * (1 - _LOST), f"majority of {n} labels")


def _share(ties: str) -> float:
    if ties not in ("worst", "best"):
        raise InputError("ties", "worst or best", ties)
    return 1.0 if ties == "worst" else 0.0


def unseen(n: int, d: int) -> np.ndarray:
    """P(U = u) for u = 0, …, d: how many of d equally likely values n draws leave unseen.

    >>> unseen(2, 2).tolist()
    [0.5, 0.5, 0.0]
    """
    size_of("n", n)
    size_of("d", d)
    p = np.zeros(d + 1)  # by the number of values seen
    p[0] = 1.0
    k = np.arange(d + 1)
    for _ in range(n):
        p = p * (k / d) + np.concatenate([[0.0], p[:-1] * ((d - k[:-1]) / d)])
    return p[::-1]


def one_hot(n: int, d: int) -> LowerBound:
    """x uniform on {e_1, …, e_d}, Y = 0, absolute loss, x·w with ‖w‖₂ ≤ 1: E exc of the worst ERM.

    w = 1/√U on the U unseen coordinates has training loss 0 and risk √U/d: the worst, by Cauchy
    and Schwarz. E√U/d is summed over the distribution of U; for large n and d Hölder gives
    E√U ≥ (EU)^{3/2}/(EU²)^{1/2} with EU = d(1 − 1/d)^n, EU² = EU + d(d − 1)(1 − 2/d)^n.

    >>> print(one_hot(1, 2))
    at least 0.5 (distribution of the unseen coordinates)
    >>> print(one_hot(10**7, 2 * 10**7))                   # about 0.55/√n
    at least 0.000174... (moments of the unseen coordinates)
    """
    size_of("n", n)
    size_of("d", d)
    if n * d <= SUMMED and n <= DRAWN:
        mean = float(unseen(n, d) @ np.sqrt(np.arange(d + 1)))
        how = "distribution of the unseen coordinates"
    else:
        first = d * math.exp(n * math.log1p(-1 / d)) if d > 1 else 0.0
        second = first + d * (d - 1) * (math.exp(n * math.log1p(-2 / d)) if d > 2 else 0.0)
        mean = first**1.5 / math.sqrt(second) if second > 0 else 0.0
        how = "moments of the unseen coordinates"
    return LowerBound(mean / d * (1 - _LOST), how)


def finite(
    losses: ArrayLike,
    probabilities: ArrayLike,
    n: int,
    ties: str = "worst",
    target: ArrayLike | None = None,
) -> LowerBound:
    """A finite class and finitely many examples: E exc of a minimiser, all samples summed over.

    ``losses`` (N, m): of predictor f on example z, which has probability p_z. The excess is over
    the least risk in the class, or over that of ``target`` (m losses). Ties are decided in
    rational arithmetic.

    >>> print(finite([[0, 1], [1, 0]], [0.75, 0.25], 1))           # two constants, one label
    at least 0.125 (all samples of 1)
    """
    size_of("n", n)
    table = [[Fraction(x) for x in row] for row in np.asarray(losses, dtype=float).tolist()]
    p = [Fraction(x) for x in np.asarray(probabilities, dtype=float).tolist()]
    m = len(p)
    if any(len(row) != m for row in table) or min(p) < 0 or abs(float(sum(p)) - 1) > 1e-12:
        raise InputError("finite class", "losses (N, m) and m probabilities", f"{len(table)}, {m}")
    if math.comb(n + m - 1, m - 1) > SAMPLES:
        raise InputError("samples", f"at most {SAMPLES} up to order", math.comb(n + m - 1, m - 1))
    worst = bool(_share(ties))
    p = [x / sum(p) for x in p]
    risks = [sum(x * q for x, q in zip(row, p, strict=True)) for row in table]
    base = (
        min(risks)
        if target is None
        else sum(
            Fraction(x) * q for x, q in zip(np.asarray(target, float).tolist(), p, strict=True)
        )
    )
    scale = math.lcm(*(x.denominator for row in table for x in row))
    whole = [[int(x * scale) for x in row] for row in table]
    total = size = 0.0
    for counts in _compositions(n, m):
        training = [sum(c * x for c, x in zip(counts, row, strict=True)) for row in whole]
        least = min(training)
        tied = [r for r, t in zip(risks, training, strict=True) if t == least]
        chance = _multinomial(counts) * math.prod(
            float(q) ** c for q, c in zip(p, counts, strict=True)
        )
        term = chance * float((max(tied) if worst else min(tied)) - base)
        total, size = total + term, size + abs(term)
    return LowerBound(total - size * _LOST, f"all samples of {n}")


def _compositions(n: int, m: int) -> Iterator[tuple[int, ...]]:
    if m == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _compositions(n - first, m - 1):
            yield (first, *rest)


def _multinomial(counts: tuple[int, ...]) -> int:
    total, ways = 0, 1
    for c in counts:
        total += c
        ways *= math.comb(total, c)
    return ways

"""Codes: how many patterns of signs are surely pairwise far apart.

Gilbert and Varshamov: take patterns one by one, striking out the ball around each; of T patterns
with V in every ball at least T/V are taken. Counts are exact integers, logs are rounded down.
"""

from __future__ import annotations

import math
from functools import lru_cache

from dudley.core.constraint import size_of
from dudley.core.rounding import down

EXACT = 4000  # up to this length binomials are summed


def _log(count: int) -> float:
    return float(down(math.log(count), 8))


def _ratio(total: int, ball: int) -> float:
    return _log(-(-total // ball))


@lru_cache(maxsize=65536)
def gilbert_varshamov(m: int, distance: int) -> float:
    """log of a number of sign vectors of {±1}^m with pairwise Hamming distance ≥ ``distance``.

    2^m / Σ_{i < distance} C(m, i), rounded up to an integer. Past length 4000 the sum is replaced
    by exp(m·h((distance − 1)/m)) with h the entropy in nats, which is above it up to half of m.

    >>> round(math.exp(gilbert_varshamov(7, 3)))      # 128/29; the Hamming code has 16
    5
    >>> round(math.exp(gilbert_varshamov(5, 1))), round(math.exp(gilbert_varshamov(5, 5)))
    (32, 2)
    """
    size_of("length of a code", m)
    if distance <= 1:
        return _log(2) * m
    if distance > m:
        return 0.0
    if m <= EXACT:
        term = ball = 1
        for i in range(1, distance):
            term = term * (m - i + 1) // i
            ball += term
        return max(_log(2), _ratio(2**m, ball))
    α = (distance - 1) / m
    if α >= 0.5:
        return _log(2)
    bits = -α * math.log(α) - (1 - α) * math.log1p(-α)
    return max(_log(2), float(m * (math.log(2) - bits) - m * 1e-14))


@lru_cache(maxsize=65536)
def sparse_signs(m: int, k: int, square: int) -> float:
    """log of a number of vectors of {−1, 0, 1}^m with k nonzeros and pairwise ‖u − v‖² ≥ square.

    Vectors with i common places, j of them with other signs, are at squared distance
    2(k − i) + 4j, and there are C(k, i) C(m − k, k − i) 2^{k−i} C(i, j) of them around each.

    >>> round(math.exp(sparse_signs(10, 1, 2)))                   # ±e_i, all √2 apart
    20
    """
    size_of("length of a code", m)
    if k == m:
        return gilbert_varshamov(m, -(-square // 4))
    if square > 4 * k:
        return 0.0
    total = math.comb(m, k) << k
    ball = 0
    for i in range(k + 1):
        far = 2 * (k - i)
        if far >= square:
            continue
        flips = range(min(i, (square - far - 1) // 4) + 1)
        supports = math.comb(k, i) * math.comb(m - k, k - i) << (k - i)
        ball += supports * sum(math.comb(i, j) for j in flips)
    return max(_log(2), _ratio(total, ball)) if ball else _log(total)

"""Copies: rows that come more often, or more regularly, than independent draws can explain.

A bound counts independent draws. Rows of a small domain repeat by right, so equal rows alone prove
nothing; but a file that holds every row a hundred times is no sample of anything. The test below
refuses such a file, and refuses independent draws of *any* distribution with probability at most α.

Claim. Let F_k be the number of different rows that come exactly k times among n independent draws,
whatever their distribution. For a set J of whole numbers ≥ 2, 0 < s ≤ 1 and g > 0 put

    a = cs/2,  b = c/2s,  c² = (m+1)/m,  m = min J,
    G(k) = 1 + g·(1{k ∈ J} − a·1{k+1 ∈ J} − b·1{k−1 ∈ J}),

g so small that G > 0. Then P[ ∏_k G(k)^{F_k} ≥ e√n/α ] ≤ α.

Proof. First let the number of draws be Poisson with mean n. The counts of different rows are then
independent, and Poisson: π_k = e^{−λ}λ^k/k!, where λ depends on the row. For k ∈ J, π_k² =
π_{k−1} π_{k+1} (k+1)/k ≤ c² π_{k−1} π_{k+1}, so π_k ≤ c(s π_{k−1} + π_{k+1}/s)/2 by the inequality
of means. Summed over J this says that G has mean at most 1. A row that never came has G(0) = 1,
since 1 ∉ J.
So the product over all rows has mean at most 1. (A part of the distribution without atoms gives
rows that come once, and G(1) ≤ 1.) Second, a Poisson number with mean n is n with probability at
least 1/(e√n), so given that it is n the mean of the product, which is never negative, is at most
e√n. Markov's inequality ends the proof. ∎

Where rows come often, more neighbours can be counted. For d ≤ D, π_k² ≤ C² π_{k−d} π_{k+d} with
C² = (K+D)!(K−D)!/K!² for k ≥ K, so π_k is at most C/2D times the sum of the 2D numbers next to it.
Let J be the multiples of m from K on, and D < m/2. Then the same proof holds for

    G(k) = 1 + g·(1{k ∈ J} − (C/2D)·1{k is not in J, and at most D from it}).

A mean of such products with weights fixed beforehand has the same property, so nothing need be
chosen: J is {m}, all multiples of m, or those from K = 2^i·m on, a third of 1/(m(m−1)) each; i has
weight 2^{−i−1}; s and g come from short lists, and D = ⌊√K⌋ where that is below m/2.

n draws *without* replacement from a pool of N are n draws with replacement, given that no item of
the pool came twice. This has probability ∏_{i<n} (1 − i/N), and e√n/α is divided by it.

Functions of independent draws are independent draws, if they were fixed before the data. So a
second test, at the same α, counts what the network reads of each row: pixels moved inside a block,
or values beyond a clipping radius, make no new example.

What it sees: rows that all come twice, from about thirty different rows on; a hundred times, from
about a dozen on; a doubled part of a file from about 7 % of 10⁴ rows on, where the bound would be
7 % too small. What it cannot see: copies of a handful of different rows, and a sample drawn *with
replacement* from a smaller one. Its draws are independent, and the number is about that sample.

>>> excess(np.array([100] * 40)) > 0 > excess(np.array([1] * 4000))
True
>>> rng = np.random.default_rng(0)
>>> bool(excess(np.unique(rng.integers(0, 500, 2000), return_counts=True)[1]) < 0)
True
"""

from __future__ import annotations

import math

import numpy as np

from dudley.core.errors import InputError

α = 5e-7  # how often a test refuses independent draws, at most; there are two: 1e-6 together
SIDES = tuple(2.0**-i for i in range(8))  # s: how much of the neighbour below, against that above
BETS = (0.5, 0.95)  # g, as a share of the largest that keeps G > 0


def excess(counts: np.ndarray, pool: int | None = None) -> float:
    """ln of the mean of the products, less ln(e√n/α): from 0 on, chance does not explain it.

    ``counts`` says how often each different row comes; ``pool`` is N where the rows were drawn
    without replacement. Sets J that hold no count cannot make the mean large; they are left out,
    which only lowers it.
    """
    sizes, F = np.unique(np.asarray(counts, np.int64), return_counts=True)
    n, several = int((sizes * F).sum()), [int(k) for k in sizes if k > 1]
    if not several:
        return -math.inf
    logs = []
    for m in {*several, math.gcd(*several)} - {1}:
        weight = 3 * m * (m - 1) * len(BETS)
        near = [_log_products(sizes, F, m, multiples) for multiples in (False, True)]
        far = int(sizes[-1] // m).bit_length() if m > 2 else 0
        wide = [_log_wide_products(sizes, F, m, m << i) for i in range(far)]
        for bet in range(len(BETS)):
            logs += [log - math.log(weight * len(SIDES)) for table in near for log in table[bet]]
            logs += [row[bet] - math.log(weight << (i + 1)) for i, row in enumerate(wide)]
    once = 0.0 if pool is None else -float(np.log1p(-np.arange(n) / pool).sum())
    return float(np.logaddexp.reduce(logs)) - (1 + 0.5 * math.log(n) - math.log(α) + once)


def _log_products(sizes: np.ndarray, F: np.ndarray, m: int, multiples: bool) -> np.ndarray:
    """Σ_k F_k ln G(k) for J = {m}, or all multiples of m: a row for every bet, a column for s."""

    def in_J(k: np.ndarray) -> np.ndarray:
        return (k > 0) & (k % m == 0) if multiples else k == m

    c, s = math.sqrt((m + 1) / m), np.array(SIDES)[:, None]
    a, b = c * s / 2, c / (2 * s)
    # An odd k ≥ 3 lies next to two multiples of 2; no other k has two neighbours in J.
    g = np.array(BETS)[:, None, None] / (a + b if multiples and m == 2 else b)
    moved = in_J(sizes) * 1.0 - a * in_J(sizes + 1) - b * in_J(sizes - 1)  # s × k
    return (F * np.log1p(g * moved)).sum(axis=-1)


def _log_wide_products(sizes: np.ndarray, F: np.ndarray, m: int, K: int) -> np.ndarray:
    """For every bet Σ_k F_k ln G(k): J is the multiples of m ≥ 3 from K on, with D neighbours."""
    D = min((m - 1) // 2, math.isqrt(K))
    i = np.arange(1, D + 1)
    C = math.exp(0.5 * float(np.log((K + i) / (K - i + 1)).sum()))
    nearest = (sizes + m // 2) // m * m
    apart = np.abs(sizes - nearest)
    a = C / (2 * D)
    moved = (nearest >= K) * ((apart == 0) * 1.0 - a * ((apart > 0) & (apart <= D)))
    return (F * np.log1p(np.array(BETS)[:, None] / a * moved)).sum(axis=-1)


FIX = "certify on draws of the population; copies that were made of an example are no draws"


def expect_chance(
    counts: np.ndarray, what: str = "examples", pool: int | None = None, fix: str = FIX
) -> None:
    """Refuse counts that independent draws, or draws from a pool, do not have."""
    if excess(counts, pool) >= 0:
        n, different = int(np.sum(counts)), len(counts)
        raise InputError(
            f"independent {what}",
            "no more copies than independent draws have by chance",
            f"{n:,} {what}, {different:,} of them different, too regular for chance",
            fix,
        )

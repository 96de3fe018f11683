"""Inversions: from errors on n examples to an upper bound on a probability, rounded outward.

With c = ln(1/δ′) and k errors among n independent examples,

    binomial_upper = max{p : P[Bin(n, p) ≤ k] ≥ e^{−c}}      (Clopper and Pearson, one-sided)
    kl_upper(q, c) = max{p : kl(q‖p) ≤ c},   kl(q‖p) = q ln(q/p) + (1−q) ln((1−q)/(1−p))

and P[Bin(n, p) ≤ k] ≤ e^{−n kl(k/n‖p)} for p ≥ k/n, so kl_upper(k/n, c/n) is never below the first.
A float candidate is moved outward until interval arithmetic (Arb) proves it on the safe side.

>>> binomial_upper(0, 1000, math.log(20)), 1 - 0.05 ** (1 / 1000)
(0.00299124..., 0.00299124...)
>>> binomial_upper(3, 100, 5.0) <= kl_upper(0.03, 0.05)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Integral

from dudley.core.errors import InputError

PRECISION = 128
STEP = 2.0**-50  # how far a candidate is moved at first, relative to itself


@lru_cache(maxsize=4096)
def binomial_upper(errors: int, n: int, c: float) -> float:
    """The largest p at which so few errors have probability e^{−c} or more, from above."""
    whole = isinstance(errors, Integral) and isinstance(n, Integral)
    counts = whole and 0 <= errors <= n and n >= 1
    _expect(counts, "errors of n", "integers, 0 ≤ errors ≤ n", f"{errors} of {n}")
    _expect(0 < c < math.inf, "ln(1/δ)", "a finite number > 0", c)
    errors, n = int(errors), int(n)
    if errors == n:
        return 1.0
    guess = _bisect(lambda p: _log_tail(errors, n, p) > -c, errors / n)
    return _outward(guess, lambda p: _tail_surely_below(errors, n, p, c))


def binomial_lower(errors: int, n: int, c: float) -> float:
    """The least p at which so many errors have probability e^{−c} or more, from below."""
    return max(0.0, math.nextafter(1.0 - binomial_upper(n - errors, n, c), 0.0))


@lru_cache(maxsize=4096)
def kl_upper(q: float, c: float) -> float:
    """max{p : kl(q‖p) ≤ c}, from above, for the floats q and c: round them up before."""
    _expect(0 <= q <= 1, "share of errors", "a number in [0, 1]", q)
    _expect(0 <= c < math.inf, "nats an example", "a finite number ≥ 0", c)
    if q == 1:
        return 1.0
    guess = _bisect(lambda p: _kl(q, p) < c, q)
    return _outward(guess, lambda p: _kl_surely_above(q, p, c))


# -- floats: a candidate ----------------------------------------------------------------------


def _bisect(below: Callable[[float], bool], low: float) -> float:
    """About the largest p ≥ low where ``below`` holds."""
    high = 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if below(middle) else (low, middle)
    return high


def _kl(q: float, p: float) -> float:
    if p >= 1:
        return math.inf
    first = q * math.log(q / p) if q > 0 else 0.0
    return first + (1 - q) * (math.log1p(-q) - math.log1p(-p))


def _log_tail(k: int, n: int, p: float) -> float:
    """ln P[Bin(n, p) ≤ k] for p ≥ k/n: the last term times Σ of falling ratios."""
    if p >= 1:
        return -math.inf
    if p <= 0:
        return 0.0
    last = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    last += k * math.log(p) + (n - k) * math.log1p(-p)
    total = term = 1.0
    for i in range(k, 0, -1):
        term *= i * (1 - p) / ((n - i + 1) * p)
        total += term
        if term < 1e-17 * total:
            break
    return last + math.log(total)


# -- Arb: the proof ---------------------------------------------------------------------------


def _outward(candidate: float, safe: Callable[[float], bool]) -> float:
    """The candidate, moved up until it is proved safe (1 always is)."""
    step = STEP
    while candidate < 1:
        if safe(candidate):
            return candidate
        candidate = max(candidate * (1 + step), math.nextafter(candidate, 1.0))
        step *= 2
    return 1.0


def _kl_surely_above(q: float, p: float, c: float) -> bool:
    from flint import arb, ctx

    with ctx.workprec(PRECISION):
        Q, P = arb(q), arb(p)
        first = Q * (Q / P).log() if q > 0 else arb(0)
        return bool(first + (1 - Q) * ((1 - Q) / (1 - P)).log() > arb(c))


def _tail_surely_below(k: int, n: int, p: float, c: float) -> bool:
    """Is P[Bin(n, p) ≤ k] < e^{−c}, p > k/n?

    Ratios of a term to the next lower one, r_i = i(1−p)/((n−i+1)p), fall with i and are below 1, so
    what is left after term i is at most term·r/(1−r).
    """
    from flint import arb, ctx

    if p * n <= k:
        return False
    with ctx.workprec(PRECISION):
        P = arb(p)
        last = arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
        last += k * P.log() + (n - k) * (1 - P).log()
        total = term = arb(1)
        for i in range(k, 0, -1):
            ratio = i * (1 - P) / ((n - i + 1) * P)
            term *= ratio
            total += term
            if term < total * arb(2) ** -PRECISION and ratio < 1:
                total += term * ratio / (1 - ratio)
                break
        return bool(last + total.log() < -arb(c))


def _expect(holds: bool, what: str, expected: str, got: object) -> None:
    if not holds:
        raise InputError(what, expected, got)

"""Finite pools: from errors on a sample to an upper bound on the errors in all of the pool.

n of the N examples of a pool are drawn without replacement, every subset being as likely as any
other, and the model errs on k of the n. If it errs on D of the N, the number of errors drawn is
hypergeometric, P[K ≤ k] = Σ_{i≤k} C(D, i) C(N−D, n−i)/C(N, n), which falls as D grows. So

    hypergeometric_upper = max{D : P[K ≤ k] ≥ e^{−c}},   c = ln(1/δ),

is exceeded with probability at most δ over the draw (Chung and DeLury 1950, confidence limits for
the hypergeometric distribution; one-sided here). The number is about these N examples. About the
population the pool came from it says nothing; about the N − n not drawn it says that at most D − k
of them are errors.

Interval arithmetic (Arb) proves that every larger D has P[K ≤ k] < e^{−c}.

>>> hypergeometric_upper(0, 50, 100, math.log(20)), hypergeometric_upper(3, 100, 100, 3.0)
(4, 3)
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from dudley.core.errors import InputError

PRECISION = 128


@lru_cache(maxsize=4096)
def hypergeometric_upper(errors: int, n: int, pool: int, c: float) -> int:
    """The largest number of errors in the pool at which so few drawn have probability ≥ e^{−c}."""
    if not 0 <= errors <= n <= pool or n < 1:
        raise InputError("pool", "0 ≤ errors ≤ n ≤ pool", f"{errors} of {n} of {pool}")
    if not 0 < c < math.inf:
        raise InputError("ln(1/δ)", "a finite number > 0", c)
    low, high = errors, pool - n + errors + 1  # possible; impossible: too few are right
    while high - low > 1:
        middle = (low + high) // 2
        if _tail_surely_below(errors, n, pool, middle, c):
            high = middle
        else:
            low = middle
    return high - 1


def hypergeometric_lower(errors: int, n: int, pool: int, c: float) -> int:
    """The least number of errors in the pool at which so many drawn have probability ≥ e^{−c}."""
    return pool - hypergeometric_upper(n - errors, n, pool, c)


def share_up(part: int, whole: int) -> float:
    """part/whole, from above."""
    value = part / whole
    return value if Fraction(value) >= Fraction(part, whole) else math.nextafter(value, math.inf)


def share_down(part: int, whole: int) -> float:
    """part/whole, from below."""
    value = part / whole
    return value if Fraction(value) <= Fraction(part, whole) else math.nextafter(value, 0.0)


def _tail_surely_below(k: int, n: int, N: int, D: int, c: float) -> bool:
    """Is P[K ≤ k] < e^{−c} for D errors in the pool, k ≤ D ≤ N − n + k?

    The last term is C(D, k) C(N−D, n−k)/C(N, n) > 0. The ratio of a term to the one above it,
    r_i = i (N−D−n+i)/((D−i+1)(n−i+1)), falls with i until it is 0 (and so is every term below), so
    once it is under 1 what is left after a term is at most term·r/(1−r).
    """
    from flint import arb, ctx

    with ctx.workprec(PRECISION):
        log_last = _log_choose(D, k) + _log_choose(N - D, n - k) - _log_choose(N, n)
        total = term = arb(1)
        for i in range(k, 0, -1):
            rest = N - D - n + i
            if rest <= 0:
                break
            ratio = arb(i * rest) / ((D - i + 1) * (n - i + 1))
            term *= ratio
            total += term
            if term < total * arb(2) ** -PRECISION and ratio < 1:
                total += term * ratio / (1 - ratio)
                break
        return bool(log_last + total.log() < -arb(c))


def _log_choose(n: int, k: int):
    from flint import arb

    return arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()

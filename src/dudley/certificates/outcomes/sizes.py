"""How many examples a certificate of outcomes needs, by exact binomials, before there are any.

δ′ is the share of δ that the question has in the certificate: half of it where slices or a
comparison stand beside the number itself, or where a gate needs both ends.

**A certificate.** Level x at δ′ is proved by k errors of n if P[Bin(n, x) ≤ k] < δ′. For each k let
n_k be the least such n. With a true error p < x the chance of a proof at n_k is P[Bin(n_k, p) ≤ k],
and any other n that tolerates k errors is larger and has a smaller chance. So the least n at which
the chance is at least the power is n_k for the first k that reaches it.

**A slice** with a share s of the rows, at δ′/S: the number of its rows is binomial, and the chance
is the mean of that of its size.  **A comparison** of errors with discordant share π and difference
θ, margin m: given M discordant rows, the proof needs b ≤ b*(M), a quantile (`difference`).  **A
gate** lets pass what errs with p and stops what errs with q > x: the larger of the two numbers.

At a larger n the chance can fall a little below the power again, since k is whole.

>>> certificate_size(0.01, 0.02, 0.05, 0.9)
SampleSize(n=1271, power=0.9067..., errors=17)
>>> certificate_size(0.0, 0.01, 0.05, 0.9).n
299
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.outcomes.difference import DISCORDANT, RATE
from dudley.core.errors import InputError

MOST = 10**8  # examples, beyond which none are named


@dataclass(frozen=True)
class SampleSize:
    """The number of examples, the chance of a proof there, and the most errors that it allows."""

    n: int
    power: float
    errors: int | None = None


def certificate_size(p: float, x: float, delta: float, power: float) -> SampleSize:
    """For "the error is below x", proved with this power where it is p."""
    _expect(p, x, delta, power)
    k, step, beyond = -1, 1, -1
    while _chance(p, x, delta, beyond + step)[1] < power:  # grow past the first k that does
        beyond += step
        step *= 2
    low, high = beyond, beyond + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _chance(p, x, delta, middle)[1] >= power else (middle, high)
    for k in range(max(0, high - 8), high + 1):  # chances need not grow with every k
        n, chance = _chance(p, x, delta, k)
        if chance >= power:
            return SampleSize(n, chance, k)
    raise AssertionError(k)


def stopping_size(q: float, x: float, delta: float, power: float) -> SampleSize:
    """For "the error is above x", proved with this power where it is q > x.

    By exchange of right and wrong: k right ones of n prove that less than 1 − x are right.
    """
    return SampleSize(*_first(certificate_size(1 - q, 1 - x, delta, power)))


def _first(size: SampleSize) -> tuple[int, float]:
    return size.n, size.power


def gate_size(p: float, q: float, x: float, delta: float, power: float) -> SampleSize:
    """Passes an error of p and stops one of q, each with this power."""
    passes, stops = certificate_size(p, x, delta, power), stopping_size(q, x, delta, power)
    return max(passes, stops, key=lambda size: size.n)


def slice_size(
    p: float, x: float, delta: float, power: float, slices: int, share: float
) -> SampleSize:
    """Rows in all, so that a slice with this share of them is proved to err less than x."""
    from scipy.stats import binom

    _expect(p, x, delta, power)
    if slices < 1 or not 0 < share <= 1:
        raise InputError("slices", "a number ≥ 1, and a share in (0, 1]", f"{slices}, {share}")

    def chance(n: int) -> float:
        low, high = binom.ppf([1e-9, 1 - 1e-9], n, share)
        m = np.arange(max(1, int(low)), int(high) + 1)
        k = _most_errors(m, x, delta / slices)
        return float((binom.pmf(m, n, share) * binom.cdf(k, m, p)).sum())

    n = _least(chance, power)
    return SampleSize(n, chance(n))


def comparison_size(
    discordant: float, difference: float, margin: float, delta: float, power: float
) -> SampleSize:
    """For "not worse by more than the margin", where the difference of errors is smaller."""
    from scipy.stats import beta, binom

    if not (0 < discordant <= 1 and abs(difference) <= discordant and difference < margin <= 1):
        expected = "a share of discordant rows, and |difference| ≤ share, difference < margin"
        raise InputError("comparison", expected, f"{discordant}, {difference}, {margin}")
    new = (discordant + difference) / 2 / discordant

    def chance(n: int) -> float:
        low, high = binom.ppf([1e-9, 1 - 1e-9], n, discordant)
        M = np.arange(int(low), int(high) + 1)
        side = delta * RATE
        π = beta.isf(side, M + 1, n - M) if margin >= 0 else beta.ppf(side, M, n - M + 1)
        π = np.where((n == M) & (margin >= 0), 1.0, np.nan_to_num(π))
        with np.errstate(divide="ignore", invalid="ignore"):
            q = (1 + margin / π) / 2
        within = _most_errors(M, np.clip(q, 1e-12, 1 - 1e-12), delta * DISCORDANT)
        most = np.where(q >= 1, M, within)
        return float((binom.pmf(M, n, discordant) * binom.cdf(most, M, new)).sum())

    n = _least(chance, power)
    return SampleSize(n, chance(n))


def _chance(p: float, x: float, delta: float, k: int) -> tuple[int, float]:
    """n_k, and the chance of at most k errors there."""
    from scipy.stats import binom

    n = _rows_for(k, x, delta)
    return n, float(binom.cdf(k, n, p))


def _rows_for(k: int, x: float, delta: float) -> int:
    """n_k: the least n with P[Bin(n, x) ≤ k] < δ′, as the certificate's own inversion sees it."""
    from scipy.stats import binom

    high = k + 1
    while binom.cdf(k, high, x) >= delta:
        high *= 2
        if high > MOST:
            raise InputError("sample size", f"at most {MOST:,} examples", "more")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if binom.cdf(k, middle, x) < delta else (middle, high)
    while binomial_upper(k, high, -math.log(delta)) > x:
        high += 1
    return high


def _most_errors(m: np.ndarray, x: float | np.ndarray, delta: float) -> np.ndarray:
    """The most errors k with P[Bin(m, x) ≤ k] < δ′; −1 where none are allowed."""
    from scipy.stats import binom

    return binom.ppf(delta, m, x) - 1


def _least(chance: Callable[[int], float], power: float) -> int:
    """About the least n with this chance: it has it, and n − 1 has not."""
    high = 1
    while chance(high) < power:
        high *= 2
        if high > MOST:
            raise InputError("sample size", f"at most {MOST:,} examples", "more")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= power else (middle, high)
    return high


def _expect(p: float, x: float, delta: float, power: float) -> None:
    if not 0 <= p < x < 1:
        raise InputError("error and level", "0 ≤ error < level < 1", f"{p:g} and {x:g}")
    if not (0 < delta < 1 and 0 < power < 1):
        raise InputError("delta and power", "numbers in (0, 1)", f"{delta:g} and {power:g}")

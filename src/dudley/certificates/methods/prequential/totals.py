"""Totals: all bits over all bytes, which is what a compressor is measured by.

**Meaning.** Unit t has b_t bits of loss and the size l_t (bytes, say). The mean over units of
b_t/l_t is one number, and Σ b_t / Σ l_t another: short units weigh as much as long ones in the
first, and hardly at all in the second. This is the bound for the second. With T_t = E[b_t | the
past] and ℓ the mean over t of E[l_t | the past], which is E[l_t] where units are independent
draws, it bounds the ratio of means ρ = (1/m)Σ T_t / ℓ.

**Formula.** Declared: B with b_t ≤ B l_t, the longest L and the shortest S with S ≤ l_t ≤ L, and
pairs (a_j, c_j) with weights w_j, 0 ≤ c_j < B and 0 < a_j < 1/((B − c_j)L). A share of δ, `SHARE`
for each side, goes into bounds ℓ₁ ≤ ℓ ≤ ℓ₂ by the form `mixture`, whose losses are l_t/L for ℓ₂
and 1 − l_t/L for ℓ₁; both are kept within [S, L]. With δ' = δ(1 − 2 `SHARE`) the bound is the least
c in (0, B] with

    Σ_j w_j Π_t (1 − a_j (b_t − c_j l_t)) / D_j(c)^m ≥ 1/δ',
    D_j(c) = 1 − a_j (c − c_j) ℓ₁ for c ≥ c_j,  and  1 + a_j (c_j − c) ℓ₂ below.

**Proof, with e_j(c) = ln of the j-th term.** By `form`, S ≤ ℓ₁ ≤ ℓ ≤ ℓ₂ ≤ L fails at some m with
probability at most 2 `SHARE` δ. b − c_j l ≤ (B − c_j)L, so the factor 1 − a_j(b_t − c_j l_t) is
positive. Its mean, given the past, is μ_t = 1 − a_j(T_t − c_j E[l_t | the past]) > 0, so the
product of the quotients is a martingale M_j that begins at 1. By the inequality of means
Π μ_t ≤ ((1/m)Σ μ_t)^m = (1 − a_j(ρ − c_j)ℓ)^m, and where ℓ₁ ≤ ℓ ≤ ℓ₂ this is at most D_j(ρ)^m. So
e_j(ρ) ≤ ln M_j there. D_j falls as c grows, and D_j(c) > 0 for c < B, since a_j(c − c_j)ℓ₁ is less
than (c − c_j)/(B − c_j). Where ρ is at least the bound, then, either the sizes are outside theirs,
or Σ w_j M_j ≥ 1/δ', which by Ville's inequality happens at any m with probability at most δ'. ∎

S and L in place of ℓ₁ and ℓ₂ would leave all of δ, but a bound would then need a c_j just above it,
and so many of them: each is as far off as the next c_j is. Where ℓ₁ and ℓ₂ are a few per cent apart
that costs a few per cent of the distance, and a few c_j do. `pairs` puts 17 of them around a ratio
that is declared, or read off the last units before the start of the stretch, which are past. The
ratio of a model that still learns falls, so most lie below it. Each comes with four bets.

>>> rng = np.random.default_rng(0)
>>> sizes = rng.integers(100, 1000, 20_000)
>>> tally = TotalsTally(UnitExtent(B=9.0, longest=1000, shortest=100), expected=2.2)
>>> tally.add_units(sizes * rng.normal(2.0, 0.2, 20_000), sizes)
>>> round(tally.ratio, 2), 2.0 < tally.upper(3.0) < 2.01
(2.0, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.form import Tally
from dudley.certificates.methods.prequential.forms.mixture import MixtureTally
from dudley.core.errors import InputError
from dudley.core.rounding import down, up

SHARE = 1 / 40  # of δ, for each side of the mean size
BELOW, ABOVE = (-1 / 2, -2 / 5), (1 / 12, 1 / 8, 1 / 4, 1 / 2)
AROUND = np.concatenate([BELOW, np.arange(-8, 3) / 32, ABOVE])  # c_j over the expected, less 1
EVERYWHERE = 64  # as many c_j where nothing is expected
BETS = 15 / 16 * 0.25 ** np.arange(4)  # a_j over the largest that is allowed
TERMS = 1024
OFF = 1 + 2.0**-40


@dataclass(frozen=True)
class UnitExtent:
    """What is declared of units: bits ≤ B·size, and shortest ≤ size ≤ longest."""

    B: float
    longest: int
    shortest: int

    def __post_init__(self):
        if not 0 < self.B < 1e9:
            raise InputError("limit", "a number > 0 of bits for each of the size", self.B)
        if not 1 <= self.shortest <= self.longest < 1 << 40:
            got = f"shortest {self.shortest}, longest {self.longest}"
            raise InputError("sizes of units", "1 ≤ shortest ≤ longest", got)


def pairs(extent: UnitExtent, expected: float | None) -> tuple[np.ndarray, np.ndarray]:
    """a_j and c_j: around an expected ratio, or over all of (0, B)."""
    if expected is None:
        levels = extent.B * np.arange(EVERYWHERE) / EVERYWHERE
    else:
        levels = expected * (1 + AROUND)
    levels = levels[(levels >= 0) & (levels < extent.B * (1 - 2.0**-20))]
    if not len(levels):
        raise InputError("expected", f"a ratio in (0, {extent.B:g})", expected)
    c = np.repeat(levels, len(BETS))
    most = 1 / ((extent.B - c) * extent.longest)
    return np.tile(BETS, len(levels)) * most, c


class TotalsTally(Tally):
    """Final: Σ_t ln(1 − a_j(b_t − c_j l_t)) for every pair, from below."""

    name = "totals"

    def __init__(self, extent: UnitExtent, expected: float | None = None) -> None:
        super().__init__()
        self.extent, self.most = extent, extent.B
        self.a, self.c = pairs(extent, expected)
        self.sums = np.zeros(len(self.a))
        self.weight = math.nextafter(1 / len(self.a), 0)
        self.bits, self.size = 0.0, 0
        self.larger, self.smaller = MixtureTally(), MixtureTally()  # of l_t/L, and of 1 − l_t/L
        self.mean_size = (float(extent.shortest), float(extent.longest))  # ℓ₁ and ℓ₂

    @property
    def ratio(self) -> float:
        """Σ b_t / Σ l_t."""
        return self.bits / max(1, self.size)

    def add_units(
        self, bits: np.ndarray, sizes: np.ndarray, unknown: np.ndarray | None = None
    ) -> None:
        """Count more units, in their order; those outside the extent are refused.

        Of ``unknown`` ones only the extent is known: their bits and sizes must be its largest, and
        for ℓ₁ they count as the shortest.
        """
        b, size = np.asarray(bits, np.float64), np.asarray(sizes, np.int64)
        extent = self.extent
        if b.shape != size.shape or b.ndim != 1:
            raise InputError("sizes", f"one for each of {b.shape} losses", f"shape {size.shape}")
        if len(b) and not extent.shortest <= size.min() <= size.max() <= extent.longest:
            expected = f"from {extent.shortest} to {extent.longest}, as declared"
            raise InputError("sizes of units", expected, f"{size.min()} to {size.max()}")
        if not ((b >= 0) & (b <= extent.B * size)).all():
            raise InputError("losses", f"0 to {extent.B:g} bits for each of the size", "others")
        for first in range(0, len(b), TERMS):
            part = slice(first, first + TERMS)
            factors = 1 - self.a[:, None] * (b[part] - self.c[:, None] * size[part])
            logs = np.log(factors)
            off = np.abs(logs).sum(axis=1) * (OFF - 1) + logs.shape[1] * self._apart
            self.sums = np.nextafter(self.sums + logs.sum(axis=1) - off, -np.inf)
        least = size if unknown is None else np.where(unknown, extent.shortest, size)
        self.larger.add(up(size / extent.longest).clip(max=1))
        self.smaller.add(up(1 - down(least / extent.longest)).clip(max=1))
        self.bits, self.size = self.bits + math.fsum(b.tolist()), self.size + int(size.sum())
        self.m += len(b)

    @property
    def _apart(self) -> np.ndarray:
        """How far the logarithm of a factor's float is off: 2^{−51}(1 + a(B + c)L) over 1/16."""
        return 2.0**-47 * (1 + self.a * (self.extent.B + self.c) * self.extent.longest)

    def count(self, x: np.ndarray) -> None:
        raise InputError("totals", "losses with sizes", "losses alone", "call add_units")

    def worsen(self, units: int) -> None:
        """A factor of at most 1 + a_j c_j L becomes 1 − a_j(B − c_j)L, which is at least 1/16."""
        high = np.log1p(self.a * self.c * self.extent.longest)
        self.sums = np.nextafter(self.sums - units * (high + math.log(16)) * OFF, -np.inf)
        self.larger.worsen(units)
        self.smaller.worsen(units)

    def upper(self, c: float) -> float:
        if 0 < c < math.inf and self.m:
            extent, log_share = self.extent, up(c - down(math.log(SHARE)))
            most = up(self.larger.upper(log_share) * extent.longest)
            least = down((1 - self.smaller.upper(log_share)) * extent.longest)
            self.mean_size = (max(least, extent.shortest), min(most, extent.longest))
            c = up(c - down(math.log1p(-2 * SHARE)))
        return super().upper(c)

    def exponents(self, p: float) -> np.ndarray:
        reach = np.where(p >= self.c, *self.mean_size)
        return math.log(self.weight) + self.sums - self.m * np.log1p(-self.a * (p - self.c) * reach)

    def exponents_ball(self, p: float, lines: np.ndarray) -> list[Any]:
        from flint import arb

        made = []
        for j in lines:
            a, c = float(self.a[j]), float(self.c[j])
            reach = self.mean_size[0 if p >= c else 1]
            base = 1 - arb(a) * (arb(p) - c) * reach
            made.append(arb(self.weight).log() + float(self.sums[j]) - self.m * base.log())
        return made

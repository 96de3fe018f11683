"""The bound of pick-to-learn: from the size of what was picked to an upper bound on the risk.

**Meaning.** A model was trained on examples that it picked itself from N independent ones. Z holds
the picked ones *and* those that the final model still gets wrong, and k = |Z|. The risk of the
final model is at most ε(k), except with probability δ over the sample.

**Rule.** These are declared before the data: a start that has not seen the sample, a training
procedure with its seed, a schedule b₁, b₂, … ≥ 1, a key (a number that depends on the example, on
its tag and on the picks so far), and the round after which one stops at the latest. Each example
carries a tag, a function of its content that was fixed before; it settles ties between keys, and
the row of an example settles ties between tags: equal examples are alike, so it does not matter
which of them comes first. In round r the candidates are
the examples that are not picked and that the current model gets wrong. The b_r candidates with the
largest keys are picked (all of them, if there are fewer), and the model is trained on the picked
ones alone. One stops after the declared round, or before a round in which no candidate is left.

**Formula.** λ_0, …, λ_{N−1} ≥ 0 are fixed before the data, and Σ λ_m ≤ δ. ε(k) is the root of

    f_k(ε) = Σ_{m=k}^{N−1} λ_m · C(m,k)/C(N,k) · (1−ε)^{−(N−m)} = 1,

and ε(k) = 1 where all these λ_m are 0, as for k = N. Each term grows with ε, so every ε with
f_k(ε) ≥ 1 is at or above the root.

**Proof that P[risk > ε(k)] ≤ δ.** Write κ(S) = Z for the set that the rule makes of the sample S,
and φ(Z) = P_z[κ(Z ∪ {z}) ≠ Z] for a new example z.

(i) If κ(S) = Z and Z ⊆ S′ ⊆ S, then κ(S′) = Z. By induction over the rounds, the model is the same
in the runs on S and S′, and so the candidates in S′ are candidates in S. Those that were picked
from S lie in Z ⊆ S′. They beat all other candidates of S, hence all other candidates of S′; and
where S had fewer than b_r candidates, all of them are picked in both runs. If no candidate is left
in S, then none is left in S′, and a round that happens on S happens on S′, for its picks are
candidates there. At the end the model is the same; those it gets wrong in S lie in Z ⊆ S′.

(ii) If κ(Z) = Z, then κ(Z ∪ W) = Z exactly if κ(Z ∪ {w}) = Z for every w in W. For the run on Z
fixes in each round which candidates beat its picks, and at the end which examples are wrong. An
example w changes the run exactly if it is, in some round, wrong and better than the worst pick (or
just wrong, where the round is not full or did not happen because no candidate was left), or if it
is wrong at the end. Each of these depends on w and on the run on Z alone. As long as no w of W
does so, the run on Z ∪ W is the run on Z. In the first round in which some w does, the best such w
is picked from Z ∪ {w} and some element of W is picked from Z ∪ W; neither run ends with Z.

(iii) A new z that the final model gets wrong has κ(Z ∪ {z}) ≠ Z: either it changes the picks, or
it is wrong at the end and belongs to the set. So the risk is at most φ(Z).

(iv) Let Z_k be the first k examples, and A_k the event κ(Z_k) = Z_k. By (i) and (ii), the sample of
the first m examples has κ = Z_k exactly if A_k holds and none of the other m − k examples changes
Z_k. Given Z_k, this has probability (1−φ(Z_k))^{m−k}. Tags are distinct, so exactly one subset of a
sample is its κ, and all C(m,k) subsets of size k are alike. Hence, for every m,

    Σ_{k=0}^{m} C(m,k) E[1_{A_k} (1−φ(Z_k))^{m−k}] = 1,                                        (*)
    P[φ(κ(S)) > ε(|κ(S)|)] = Σ_{k=0}^{N} C(N,k) E[1_{A_k} 1{φ(Z_k) > ε(k)} (1−φ(Z_k))^{N−k}].

Where φ > ε(k) and φ < 1, f_k(φ) ≥ 1, that is C(N,k) (1−φ)^{N−k} ≤ Σ_m λ_m C(m,k) (1−φ)^{m−k}.
(Where φ = 1 and k < N the left side is 0; for k = N there is no such φ.) Put this into the second
line and sum over k with (*): the probability is at most Σ_m λ_m ≤ δ. ∎

**Closed form for λ_m = δ/N.** In independent trials of probability ε the (k+1)-th success comes in
trial m + 1 with probability C(m,k) ε^{k+1} (1−ε)^{m−k}. It comes among the first N trials exactly
if these have more than k successes. So

    Σ_{m=k}^{N−1} C(m,k) (1−ε)^m = (1−ε)^k ε^{−k−1} P[Bin(N,ε) > k],

and f_k(ε) = δ P[Bin(N,ε) > k] / (Nε P[Bin(N,ε) = k]). The root solves
Nε · P[Bin(N,ε) = k] = δ · P[Bin(N,ε) > k].

**Variants that the proof allows.** Any event may stand for "wrong" (a loss above a limit, a margin
below one), as long as it is declared. "Stop when at most s candidates are left" is allowed if every
b_r > s: a round that happens on S picks more than s examples, which are candidates in S′ too; and
the s that are left belong to Z. Schedules, stops and keys that depend on counts, ranks or means
over the sample are not allowed: they break (i).

References: Campi and Garatti, "Compression, generalization and learning", JMLR 24 (2023), 1–74;
Paccagnan, Campi and Garatti, "The pick-to-learn algorithm empowers compression theory for
tight generalization bounds and improved post-training performance", NeurIPS 2023.

>>> risk_upper(11, 100_000, math.log(20)), risk_upper(62, 10_000, math.log(20))
(0.0002325..., 0.0088596...)
>>> risk_upper(62, 10_000, math.log(20), PickWeights(expected=60))
0.00842...
>>> risk_upper(10, 10, 3.0)
1.0
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import Any

from dudley.certificates.methods.pick_to_learn import tails
from dudley.core.errors import InputError

STEP = 2.0**-50  # how far a candidate is moved at first, relative to itself


@dataclass(frozen=True)
class PickWeights:
    """How δ is spread over m = 0, …, N−1: evenly, or four fifths of it at a single m.

    With ``expected`` = k₀, which is declared before the data, a fifth is spread evenly and the rest
    lies at m₀ = ⌊k₀/ε₀⌋ (N−1, if that is less), ε₀ being the bound for k₀ with even weights:

        λ_m = (δ/5)/N + (4δ/5) · 1{m = m₀},    Σ_m λ_m = δ/5 + 4δ/5 = δ.

    C(m,k) (1−ε)^m is largest near m = k/ε, with a width of about N/√k. As k₀/ε₀ moves less than
    that while k₀ is halved or doubled, a guess of k within a factor of two gains nearly all there
    is to gain, and a wrong guess costs at most ln 5 nats. m₀ depends on k₀, N and δ alone.

    >>> PickWeights(expected=60).peak(10_000, math.log(20))
    6962
    """

    expected: int | None = None

    def __post_init__(self):
        if self.expected is None:
            return
        if not isinstance(self.expected, Integral) or isinstance(self.expected, bool):
            raise InputError("expected picks and errors", "an integer ≥ 0", self.expected)
        if self.expected < 0:
            raise InputError("expected picks and errors", "an integer ≥ 0", self.expected)

    @property
    def floor(self) -> Fraction:
        """The share of δ that is spread evenly."""
        return Fraction(1) if self.expected is None else Fraction(1, 5)

    def peak(self, N: int, c: float) -> int | None:
        """m₀, where the rest of δ lies; None for even weights."""
        if self.expected is None:
            return None
        k = min(int(self.expected), N)
        return min(int(k / risk_upper(k, N, c)), N - 1)

    def shares(self, N: int, c: float) -> list[Fraction]:
        """λ_m/δ for m = 0, …, N−1."""
        shares = [self.floor / N] * N
        m = self.peak(N, c)
        if m is not None:
            shares[m] += 1 - self.floor
        return shares


UNIFORM = PickWeights()


@lru_cache(maxsize=4096)
def risk_upper(k: int, N: int, c: float, weights: PickWeights = UNIFORM) -> float:
    """ε(k), from above: the risk bound for k picks and remaining errors of N, at δ = e^{−c}."""
    k, N = counts(k, N)
    confidence(c)
    if k == N:
        return 1.0
    floor, peak = weights.floor, weights.peak(N, c)
    candidate = _root(lambda ε: _log_sum(k, N, ε, c, floor, peak) < 0, k / N)
    return _outward(candidate, k / N, lambda ε: _log_sum_ball(k, N, ε, c, floor, peak))


def counts(k: int, N: int) -> tuple[int, int]:
    """Both as plain integers, 0 ≤ k ≤ N, N ≥ 1; anything else is refused."""
    whole = isinstance(k, Integral) and isinstance(N, Integral)
    if not (whole and 0 <= k <= N and N >= 1):
        fix = "k counts the picked examples and those still wrong among the N of the sample"
        raise InputError("k of N", "integers, 0 ≤ k ≤ N, N ≥ 1", f"{k} of {N}", fix)
    return int(k), int(N)


def confidence(c: float) -> float:
    """ln(1/δ), if it is one."""
    if not 0 < c < math.inf:
        raise InputError("ln(1/δ)", "a finite number > 0", c)
    return c


# -- floats: a candidate ----------------------------------------------------------------------


def _root(below: Callable[[float], bool], low: float) -> float:
    """About the least ε > low where ``below`` fails."""
    high = 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if high - low <= 1e-15 * high or middle in (low, high):
            break
        low, high = (middle, high) if below(middle) else (low, middle)
    return high


def _log_sum(k: int, N: int, ε: float, c: float, floor: Fraction, peak: int | None) -> float:
    """ln f_k(ε), about, for ε > k/N."""
    mass = tails.log_mass(k, N, ε)
    at_most = math.exp(min(mass + math.log(tails.falling(k, N, ε)), 0.0))
    above = math.log1p(-at_most) if at_most < 1 else -math.inf
    even = math.log(floor) - c + above - math.log(N * ε) - mass
    if peak is None or peak < k:
        return even
    point = math.log(1 - floor) - c - (N - peak) * math.log1p(-ε)
    point += tails.log_choose(peak, k) - tails.log_choose(N, k)
    high, low = max(even, point), min(even, point)
    return high + math.log1p(math.exp(low - high))


# -- Arb: the proof ---------------------------------------------------------------------------


def _outward(candidate: float, least: float, log_sum: Callable[[float], Any]) -> float:
    """The candidate, corrected by a Newton step, then moved up until ln f ≥ 0 is proved."""
    from flint import ctx

    with ctx.workprec(tails.PRECISION):
        nearby = candidate * (1 + 2.0**-24)
        if least < candidate and nearby < 1:
            here, there = log_sum(candidate), log_sum(nearby)
            slope = float(there - here) / (nearby - candidate)
            if slope > 0 and abs(float(here)) < 1e-3:
                candidate = max(candidate - float(here) / slope, math.nextafter(least, 1.0))
        step = STEP
        while candidate < 1:
            if candidate > least and log_sum(candidate) >= 0:
                return candidate
            candidate = max(candidate * (1 + step), math.nextafter(candidate, 1.0))
            step *= 2
    return 1.0


def _log_sum_ball(k: int, N: int, ε: float, c: float, floor: Fraction, peak: int | None) -> Any:
    """ln f_k(ε) for ε > k/N, enclosed.

    P[Bin > k]/P[Bin = k] = 1/P[Bin = k] − T(k, N, ε), so the even part of f_k is
    floor · δ · (1/P[Bin = k] − T)/(Nε).
    """
    from flint import arb

    E, δ = arb(ε), (-arb(c)).exp()
    mass, T = tails.log_mass_ball(k, N, E), tails.falling_ball(k, N, E)
    share = arb(floor.numerator) / floor.denominator
    total = share * ((-mass).exp() - T) / (N * E)
    if peak is not None and peak >= k:
        point = tails.log_choose_ball(peak, k) - tails.log_choose_ball(N, k)
        total += (1 - share) * (point - (N - peak) * (1 - E).log()).exp()
    return (δ * total).log()

"""A finite pool: how many items outside Z the final model of pick-to-learn can get wrong.

**Meaning.** N of the M items of a pool are drawn without replacement, all subsets being equally
likely, and the rule of `bound` runs on them. Z holds the picked ones and those still wrong, and
k = |Z|. Drawn items outside Z are right. So errors outside Z are errors among the M − N items that
were not drawn, and the bound is about these. Nothing is said about the population that the pool
came from. This is the form to use after copies were removed: remove them from the pool, and then
draw. (A sample from which copies were removed is no independent sample.)

**Formula.** For D = 0, …, M − N and weights λ_m ≥ 0 fixed before the draw, Σ λ_m ≤ δ, let

    g(D) = Σ_{m=k}^{N−1} λ_m · C(M,N) C(M−k−D, m−k) / [C(M,m) C(M−k−D, N−k)].

g grows with D. Except with probability δ over the draw, the errors outside Z number at most
D* − 1, where D* is the least D with g(D) ≥ 1; M − N if there is none.

**Proof.** Each item has a fixed tag, so κ is a function on the subsets of the pool, and (i) and
(ii) of `bound` hold. For Z with κ(Z) = Z, let C_Z be the items w outside Z with κ(Z ∪ {w}) = Z, and
c = |C_Z| their number. By (i) and (ii), the sets of m items whose κ is Z are the sets Z ∪ W with
W ⊆ C_Z and |W| = m − k. There are C(c, m−k) of them. Every set has exactly one κ, so for every m

    Σ_Z C(c(Z), m−k(Z)) = C(M, m),                                                            (*)

the sum being over all Z with κ(Z) = Z. Call Z bad if D(Z) = M − k − c(Z) ≥ D* (which depends on k).
Then g(D(Z)) ≥ 1, or C(c, N−k) = 0. Hence by (*)

    P[κ(S) bad] = Σ_{Z bad} C(c, N−k)/C(M,N) ≤ Σ_{Z bad} Σ_m λ_m C(c, m−k)/C(M,m) ≤ Σ_m λ_m ≤ δ.

An item outside Z that the final model gets wrong changes κ(Z), so it is not in C_Z: the errors
outside Z number at most M − k − c = D(Z). D(Z) ≤ M − N always, for S∖Z ⊆ C_Z. g grows with D, for
C(c,m−k)/C(c,N−k) = (N−k)!/(m−k)! / [(c−N+k+1) ⋯ (c−m+k)] falls as c grows. ∎

**Closed form for λ_m = δ/N.** With H hypergeometric (N draws from M + 1 balls, k + D + 1 of
them red),

    g(D) = δ · (M+1−N) · P[H > k] / (N (D+1) · P[H = k]).

Put c = M − k − D and lay the M + 1 balls out in a random order. The (k+1)-th red ball is at place
m + 1 with probability C(m,k) C(M−m, D)/C(M+1, k+D+1), and C(m,k) C(M−m,D)/C(M, k+D) · C(k+D, k)⁻¹
= C(c, m−k)/C(M, m), for both sides are M!/(k! (m−k)! D! (M−m−D)!) divided by
C(M, k+D) C(k+D, k) C(M, m). The (k+1)-th red ball is among the first N places exactly if H > k. So
Σ_{m=k}^{N−1} C(c,m−k)/C(M,m) = P[H > k] · (M+1)/((k+D+1) C(k+D,k)). The factor C(c,N−k)/C(M,N) is
P[H = k] · (D+1)(M+1)/((M+1−N)(k+D+1) C(k+D,k)), and g is δ/N times the quotient. As M → ∞ with
D = εM this is the closed form of `bound`.

References: as for `bound`; the counting form is derived here.

>>> import math
>>> pool_errors_upper(11, 10_000, 100_000, math.log(20))
215
>>> pool_errors_upper(0, 10, 10, 3.0), pool_errors_upper(10, 10, 25, 3.0)
(0, 15)
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from numbers import Integral

from dudley.certificates.methods.pick_to_learn.bound import UNIFORM, PickWeights, confidence, counts
from dudley.certificates.methods.pick_to_learn.tails import PRECISION, log_choose_ball
from dudley.core.errors import InputError


@lru_cache(maxsize=4096)
def pool_errors_upper(k: int, N: int, M: int, c: float, weights: PickWeights = UNIFORM) -> int:
    """The most errors outside Z, for k picks and remaining errors of N drawn from M items."""
    k, N = counts(k, N)
    if not isinstance(M, Integral) or N > M:
        raise InputError("items of the pool", f"an integer, at least the {N} drawn", M)
    M, confidence_nats = int(M), confidence(c)
    floor, peak = weights.floor, pool_peak(weights, N, M, c)
    low, high = 0, M - N + 1  # g(0) ≤ δ < 1; beyond M − N nothing needs a proof
    while high - low > 1 and k < N:
        middle = (low + high) // 2
        if _surely_rare(k, N, M, middle, confidence_nats, floor, peak):
            high = middle
        else:
            low = middle
    return high - 1 if k < N else M - N


def pool_peak(weights: PickWeights, N: int, M: int, c: float) -> int | None:
    """m₀ of `PickWeights` for a pool: where C(c, m−k)/C(M, m) is largest for the declared k₀.

    Terms grow with m while m (k₀+D) ≤ k₀ (M+1). D is the bound for k₀ with even weights, plus one.
    """
    if weights.expected is None:
        return None
    k = min(int(weights.expected), N)
    D = pool_errors_upper(k, N, M, c) + 1
    return min(k * (M + 1) // (k + D), N - 1)


def _surely_rare(
    k: int, N: int, M: int, D: int, c: float, floor: Fraction, peak: int | None
) -> bool:
    """Is g(D) ≥ 1, for k < N and 0 ≤ D ≤ M − N?

    P[H > k]/P[H = k] = 1/P[H = k] − T, where T = P[H ≤ k]/P[H = k] is a sum of products of the
    ratios i (M−k−D−N+i)/((k+D+2−i)(N−i+1)) for i = k, k−1, …, which fall.
    """
    from flint import arb, ctx

    good = M - k - D
    with ctx.workprec(PRECISION):
        mass = log_choose_ball(k + D + 1, k) + log_choose_ball(good, N - k)
        mass -= log_choose_ball(M + 1, N)
        T = term = arb(1)
        for i in range(k, 0, -1):
            rest = good - N + i
            if rest <= 0:
                break
            ratio = arb(i * rest) / ((k + D + 2 - i) * (N - i + 1))
            term *= ratio
            T += term
            if ratio < 1 and term < T * arb(2) ** -80:
                T += term * ratio / (1 - ratio) * arb(0.5, 0.5)
                break
        share = arb(floor.numerator) / floor.denominator
        total = share * (M + 1 - N) * ((-mass).exp() - T) / (arb(N) * (D + 1))
        if peak is not None and k <= peak:
            point = log_choose_ball(M, N) - log_choose_ball(M, peak)
            point += log_choose_ball(good, peak - k) - log_choose_ball(good, N - k)
            total += (1 - share) * point.exp()
        return bool(total >= arb(c).exp())

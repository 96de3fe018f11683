"""A declared maximum of picks: picks and remaining errors are bounded apart, and then together.

**Meaning.** The rule of `bound` may pick at most d examples, d ≥ 1 being declared before the data.
Of N examples it picked p ≤ d, and the final model gets e of the other N − p wrong. This bound is
sharper than that of `bound` where p is near d, and worse where the rule stops well before.

**Formula.** Let a(1 − ln a) = δ. Except with probability δ over the sample, the risk is at most

    max{φ + (1−φ) ρ : P[Bin(N, φ) ≤ d−1] · P[Bin(N−p, ρ) ≤ e] ≥ a}.

**Hypotheses.** The rule stops after a declared round, or when *no* candidate is left, and picks at
most d examples from samples of any size. Here "stop when at most s > 0 are wrong" is not allowed,
whatever the schedule: those left are no part of the picks, so each of two new examples alone may
leave the picks as they are while both together cause another round. (Property (ii) fails.)

A rule whose schedule would pick more has a number only for samples from which it picks at most d;
elsewhere it is refused. On those samples its run is that of the rule that cuts its last batch so
that d picks are never exceeded, and stops there. This rule satisfies the hypotheses, so the number
is below the risk with probability at most δ all the same.

**Proof.** Now κ(S) is the set of the picks alone, and φ(Z) = P_z[κ(Z ∪ {z}) ≠ Z]. The proofs of (i)
and (ii) in `bound` hold word for word without what is said about the end of the run.

*U₁ = P[Bin(N, φ) ≤ d−1] is super-uniform.* Let μ_k be the law of 1 − φ(Z_k) on the event
κ(Z_k) = Z_k. Identity (*) of `bound` reads Σ_{k≤d} (1/k!) ∫ G^{(k)} dμ_k = G(1) for G(x) = x^m. It
holds for all polynomials, and, since they are dense in C^d[0,1], for every G of that space. Fix
t = 1 − ε < 1 and H(x) = x^N. Let G = H on [0, t], and right of t let G^{(d)} fall from H^{(d)}(t)
to 0 linearly over a length η and stay 0. Then G^{(k)} ≥ H^{(k)} · 1{x ≤ t} for all k ≤ d: left of t
they are equal, and right of t every derivative of G up to the d-th is ≥ 0. So

    P[φ ≥ ε] = Σ_k C(N,k) ∫ 1{x ≤ t} x^{N−k} dμ_k = Σ_k (1/k!) ∫ 1{x ≤ t} H^{(k)} dμ_k ≤ G(1).

As η → 0, G(1) tends to the Taylor polynomial of H of degree d − 1 about t, taken at 1:
Σ_{j<d} C(N,j) t^{N−j} (1−t)^j = P[Bin(N, ε) ≤ d−1]. This falls continuously from 1 to 0 as ε grows
(for d ≤ N; for d > N the bound is 1). Hence P[U₁ ≤ u] ≤ u.

*U₂ = P[Bin(N−p, ρ) ≤ e] is super-uniform given the picks*, ρ being the probability that the final
model gets a new example wrong which does not change the picks. By (i) and (ii), given that the
picks are Z, the other N − p examples are independent, each with the law of an example that does not
change Z. The final model is a function of Z. So e is Bin(N−p, ρ) given the picks, and the
distribution function of a variable, taken at the variable, is super-uniform.

*Fisher's product.* φ and U₁ are functions of the picks. So P[U₁U₂ ≤ a] ≤ E[min(1, a/U₁)], and since
min(1, a/u) falls with u, this is at most its value for uniform U₁: a + ∫_a^1 a/u du = a(1 − ln a).
A new example that is wrong changes the picks, or it does not and is wrong: risk ≤ φ + (1−φ)ρ. ∎

**The maximum is that of a concave function, and one tangent bounds it.** Write φ = 1 − e^{−x},
ρ = 1 − e^{−y}, so that the risk is 1 − e^{−(x+y)}. Put s(x) = −ln P[Bin(N, φ) ≤ d−1], and t(y) for
the other factor. The derivative of P[Bin(n, φ) ≤ j] by φ is −(n−j)/(1−φ) · P[Bin(n, φ) = j]. Hence

    s′(x) = (N−d+1)/T(d−1, N, φ),    t′(y) = (N−p−e)/T(e, N−p, ρ),

with T of `tails`. T falls as φ grows, so s′ grows and s is convex, and so is t. For any x₀, y₀ ≥ 0
and g = min(s′(x₀), t′(y₀)) > 0, and any x, y ≥ 0 with s(x) + t(y) ≤ ln(1/a), the tangents give

    x + y ≤ x₀ + y₀ + [ln(1/a) − s(x₀) − t(y₀) + (s′(x₀) − g) x₀ + (t′(y₀) − g) y₀] / g.

Arb evaluates the right side at a float candidate (x₀, y₀) for the maximum. A bad candidate makes
the result larger, never wrong.

References: Campi and Garatti, "The exact feasibility of randomized solutions of uncertain convex
programs", SIAM J. Optim. 19 (2008), has the law of U₁ for convex programs; Fisher, *Statistical
Methods for Research Workers* (1932), §21.1, has the product; for pick-to-learn see `bound`.

>>> capped_upper(26, 36, 10_000, 26, math.log(20))
0.00782...
>>> capped_upper(27, 36, 10_000, 26, 3.0)
Traceback (most recent call last):
dudley.core.errors.InputError: picks: expected at most the declared maximum 26, got 27; ...
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Integral
from typing import Any

from dudley.certificates.methods.pick_to_learn import tails
from dudley.certificates.methods.pick_to_learn.bound import confidence, counts
from dudley.core.errors import InputError


@lru_cache(maxsize=4096)
def capped_upper(picks: int, errors: int, N: int, most: int, c: float) -> float:
    """The risk bound for so many picks, of at most ``most``, and errors left, at δ = e^{−c}."""
    picks, N = counts(picks, N)
    if not isinstance(errors, Integral) or not 0 <= errors <= N - picks:
        expected = f"an integer, 0 ≤ errors ≤ {N - picks}"
        raise InputError("errors left", expected, errors, "count only examples not picked")
    if not isinstance(most, Integral) or most < 1:
        fix = "without picks the sample is a test set: use the hold-out method"
        raise InputError("declared maximum of picks", "an integer ≥ 1", most, fix)
    if picks > most:
        fix = "the maximum must be declared before the data; use the bound without a maximum"
        raise InputError("picks", f"at most the declared maximum {most}", picks, fix)
    errors, most, rest = int(errors), int(most), N - picks
    budget = product_budget(confidence(c))
    if most > N or errors == rest:
        return 1.0
    x, y = _candidate(most - 1, N, errors, rest, budget)
    return _tangent(most - 1, N, errors, rest, budget, x, y)


def product_budget(c: float) -> float:
    """ln(1/a), from above, for a(1 − ln a) = e^{−c}.

    >>> a = math.exp(-product_budget(math.log(20)))
    >>> round(a * (1 - math.log(a)), 12)
    0.05
    """
    from flint import arb, ctx

    C = c + math.log1p(c)
    for _ in range(60):  # Newton on C − ln(1+C) = c, which is convex
        C = max(C - (C - math.log1p(C) - c) * (1 + C) / C, c)
    step = 2.0**-52
    with ctx.workprec(tails.PRECISION):
        while not arb(C) - (1 + arb(C)).log() >= arb(c):
            C, step = math.nextafter(C * (1 + step), math.inf), 2 * step
    return C


# -- floats: a candidate ----------------------------------------------------------------------


def _cost(k: int, n: int, x: float) -> tuple[float, float]:
    """−ln P[Bin(n, 1−e^{−x}) ≤ k] and its derivative by x, about, for k < n."""
    if x <= 0:
        return 0.0, (float(n) if k == 0 else 0.0)
    p = -math.expm1(-x)
    if p >= 1:
        return math.inf, float(n - k)
    mass = tails.log_mass(k, n, p)
    if p >= k / n:
        T = tails.falling(k, n, p)
        return -mass - math.log(T), (n - k) / T
    # Left of the mean the upper tail is the short sum: P[> k] = P[n − Bin ≤ n−k−1].
    above = tails.log_mass(k + 1, n, p) + math.log(tails.falling(n - k - 1, n, 1 - p))
    at_most = -math.expm1(min(above, -1e-300))
    return -math.log(at_most), (n - k) * math.exp(mass) / at_most


def _spent(k: int, n: int, budget: float) -> float:
    """About the x at which the cost is the budget: Newton from the right on a convex function."""
    if budget <= 0:
        return 0.0
    x = 1.0 / n
    while _cost(k, n, x)[0] < budget:
        x *= 2
    for _ in range(60):
        cost, slope = _cost(k, n, x)
        if not math.isfinite(cost) or slope <= 0:
            x /= 2
            continue
        step = (cost - budget) / slope
        x -= step
        if abs(step) <= 1e-13 * x:
            break
    return max(x, 0.0)


def _candidate(k: int, n: int, e: int, rest: int, budget: float) -> tuple[float, float]:
    """About where x + y is largest under s(x) + t(y) ≤ budget: slopes agree, or x or y is 0."""

    def steeper(x: float) -> bool:
        cost, slope = _cost(k, n, x)
        return slope > _cost(e, rest, _spent(e, rest, budget - cost))[1]

    x = _crossing(steeper, _spent(k, n, budget))
    return x, _spent(e, rest, budget - _cost(k, n, x)[0])


def _crossing(beyond: Callable[[float], bool], high: float) -> float:
    """About the least x in [0, high] where ``beyond`` holds; 0 or high at the ends."""
    if beyond(0.0):
        return 0.0
    if not beyond(high):
        return high
    low = 0.0
    for _ in range(40):  # the tangent's error is of second order in that of x
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high


# -- Arb: the proof ---------------------------------------------------------------------------


def _tangent(k: int, n: int, e: int, rest: int, budget: float, x: float, y: float) -> float:
    """1 − e^{−(x+y)} at the bound that the tangents at (x, y) give, from above."""
    from flint import arb, ctx

    with ctx.workprec(tails.PRECISION):
        first, second = _cost_ball(k, n, x), _cost_ball(e, rest, y)
        least = first[1].min(second[1])
        if not least > 0:
            return 1.0
        excess = arb(budget) - first[0] - second[0]
        excess += (first[1] - least) * arb(x) + (second[1] - least) * arb(y)
        risk = 1 - (-(arb(x) + arb(y) + excess / least)).exp()
        return min(_above(risk), 1.0)


def _cost_ball(k: int, n: int, x: float) -> tuple[Any, Any]:
    """−ln P[Bin(n, 1−e^{−x}) ≤ k] and its derivative by x, enclosed."""
    from flint import arb

    if x <= 0:
        return arb(0), arb(n if k == 0 else 0)
    p = 1 - (-arb(x)).exp()
    T = tails.falling_ball(k, n, p)
    return -tails.log_mass_ball(k, n, p) - T.log(), (n - k) / T


def _above(ball: Any) -> float:
    """A float at or above everything in the ball."""
    value = float(ball.upper())
    while not value >= ball:
        value = math.nextafter(value, math.inf)
    return value

"""Directions: a few lines through 0 of R^b, one of them close to every vector.

*Lines within stretch t*: every r ∈ R^b has ⟨r, v⟩² ≥ ‖r‖²/t for a unit vector v along one of m
lines. The b axes do it with t = b. In the plane, m lines at equal angles do it with
t = 1/cos²(π/2m). For b ≥ 3 lines drawn at random do it: let cos θ = 1/√t and 0 < η < θ, and let
Ω(φ) be the share of the sphere that a cap of angle φ takes.

1. A maximal set of lines more than η apart has L ≤ 1/(2Ω(η/2)) members, as the double caps of
   angle η/2 around them are disjoint; and every line is within η of one of them.
2. m independent uniform lines all miss one of these by more than φ = θ − η with probability
   (1 − 2Ω(φ))^m, and miss any of them so with probability less than L·exp(−2mΩ(φ)).
3. That is at most 1 if m ≥ log L / 2Ω(φ). So there are m lines that miss none, and then no
   vector is further than η + φ = θ from all of them.

The cap by parts, again and again; all terms are positive, so that any number of them is a lower
bound:

    Ω(φ) = Γ(b/2)/(√π Γ((b−1)/2)) ∫₀^φ sin^{b−2},
    ∫₀^φ sin^{b−2} = (sin^{b−1}φ · cos φ)/(b−1) · Σ_k ∏_{j≤k} (b−2+2j)/(b−1+2j) · sin^{2k}φ.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dudley.core.rounding import up

Directions = tuple[tuple[float, float], ...]  # stretch t and log m, the log of the number of lines

_STRETCHES = (
    1.02,
    1.05,
    1.1,
    1.15,
    1.2,
    1.3,
    1.4,
    1.6,
    1.8,
    2.1,
    2.5,
    3.0,
    4.0,
    6.0,
    10.0,
    20.0,
    40.0,
)
_PLANE = range(2, 17)  # how many lines of the plane are tried
_TERMS = 512
_SHARES = np.geomspace(1e-7, 0.5, 80)  # of θ that are tried as η


def log_cap(b: int, φ: ArrayLike) -> np.ndarray:
    """log of the share Ω(φ) of the unit sphere of R^b, b ≥ 2, in a cap of angle φ < π/2; or less.

    >>> round(float(np.exp(log_cap(3, math.pi / 3))), 6)      # (1 − cos φ)/2
    0.25
    """
    φ = np.asarray(φ, dtype=float)[..., None]
    steps = np.arange(b, b + 2.0 * _TERMS, 2)
    terms = np.cumprod(steps / (steps + 1) * np.sin(φ) ** 2, axis=-1)
    log_sum = np.log1p(terms.sum(axis=-1))
    sines, cosine = (b - 1) * np.log(np.sin(φ[..., 0])), np.log(np.cos(φ[..., 0]))
    gammas = math.lgamma(b / 2) - math.lgamma((b - 1) / 2) - math.log(math.pi) / 2
    value = gammas - math.log(b - 1) + sines + cosine + log_sum
    return value - 1e-11 - 1e-14 * (np.abs(sines) + math.lgamma(b / 2 + 2))


def log_random(b: int, t: float) -> float:
    """log of a number of random lines of R^b, b ≥ 3, with which stretch t > 1 is possible."""
    θ = math.acos(1 / math.sqrt(t)) * (1 - 1e-12)
    η = θ * _SHARES
    log_L = -math.log(2) - log_cap(b, η / 2)
    log_m = float((np.log(log_L) - math.log(2) - log_cap(b, θ - η)).min())
    if log_m < 20:
        return math.log(max(math.ceil(math.exp(log_m)), 1))
    return float(up(log_m + math.exp(-log_m)))  # log(m + 1) ≤ log m + 1/m


@lru_cache(maxsize=256)
def lines(b: int) -> Directions:
    """Stretches t of lines of R^b, each with the log of a number of lines that suffices.

    >>> lines(1), [(round(t, 3), round(math.exp(log_m))) for t, log_m in lines(2)[:3]]
    (((1.0, 0.0),), [(2.0, 2), (1.333, 3), (1.172, 4)])
    """
    if b == 1:
        return ((1.0, 0.0),)
    if b == 2:
        return tuple((float(up(1 / math.cos(math.pi / 2 / m) ** 2)), math.log(m)) for m in _PLANE)
    return ((float(b), math.log(b)), *((t, log_random(b, t)) for t in _STRETCHES))


@lru_cache(maxsize=256)
def products(first: Directions, second: Directions) -> Directions:
    """Pairs of a line of each kind: stretches multiply, and so do numbers."""
    return tuple((float(up(t * u)), log_m + log_k) for t, log_m in first for u, log_k in second)


@lru_cache(maxsize=256)
def worth_trying(choices: Directions) -> Directions:
    """Those of the choices that make t·(log m + κ) least for some κ: few, at no loss to speak of.

    t·(B/ε)² steps, each of which names a line and one of e^κ things more, cost about that.
    """
    t, log_m = np.array(choices).T
    best = {int(np.argmin(t * (log_m + κ))) for κ in [0.0, *np.geomspace(1, 700, 24)]}
    return tuple(choices[k] for k in sorted(best))

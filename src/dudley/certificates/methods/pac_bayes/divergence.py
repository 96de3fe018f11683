"""Divergence: KL between Gaussians with independent coordinates, rounded up.

    KL(N(w, diag σ²) ‖ N(w₀, diag s²)) = Σ_i ½(a_i − 1 − ln a_i) + ½((w_i − w₀_i)/s_i)²,

a = (σ/s)².

Every float operation below is within a unit of its result, so a summand is off by less than
16·2⁻⁵²·(1 + a + |ln a| + ((w − w₀)/s)²); the sum of these is added. A quotient σ/s below 2⁻¹⁰²²
would have lost digits, so it is refused.

Where σ, s are the same for p coordinates, the sum is p·½(a − 1 − ln a) + ½‖w − w₀‖²/s², and only
the squared distance must be known of the weights (``isotropic``).

>>> ones = np.ones(1)
>>> round(gaussian(ones, ones, 0 * ones, 2 * ones), 6)          # ln 2 − ½ + (1 + 1)/8
0.443147
"""

from __future__ import annotations

import math

import numpy as np

from dudley.core.errors import InputError
from dudley.core.rounding import up

SLACK = 16 * 2.0**-52


def gaussian(w: np.ndarray, σ: np.ndarray, w0: np.ndarray, s: np.ndarray) -> float:
    """KL(N(w, diag σ²) ‖ N(w0, diag s²)) in nats, from above; all of one shape, σ, s > 0."""
    if not (σ > 0).all() or not (s > 0).all():
        raise InputError("standard deviations", "numbers > 0", min(float(σ.min()), float(s.min())))
    with np.errstate(all="ignore"):
        ratio, moved = σ / s, ((w - w0) / s) ** 2
        a, log_a = ratio**2, 2 * np.log(ratio)
        parts = 0.5 * (a - 1 - log_a) + 0.5 * moved
        slack = SLACK * (1 + a + np.abs(log_a) + moved)
    if not np.isfinite(parts).all() or ratio.min() < np.finfo(np.float64).tiny:
        expected, got = "a finite number, and σ/s ≥ 2^-1022", f"σ/s down to {ratio.min():g}"
        raise InputError("divergence", expected, got, "σ is far below s, or s near 0")
    return max(0.0, float(up(math.fsum(parts.ravel()) + math.fsum(slack.ravel()))))


def isotropic(p: int, squares: float, σ: float, s: float) -> float:
    """KL(N(w, σ²I) ‖ N(w0, s²I)) in p coordinates, from above; ``squares`` ≥ ‖w − w0‖².

    >>> round(isotropic(1, 1.0, 1.0, 2.0), 6)
    0.443147
    """
    if not (0 < σ < math.inf and 0 < s < math.inf and σ / s >= np.finfo(np.float64).tiny):
        raise InputError("standard deviations", "numbers > 0, and σ/s ≥ 2^-1022", (σ, s))
    if not 0 <= squares < math.inf:
        raise InputError("squared distance", "a finite number ≥ 0", squares)
    ratio = σ / s
    a, log_a, moved = ratio * ratio, 2 * math.log(ratio), squares / s / s
    slack = SLACK * (p * (1 + a + abs(log_a)) + moved)
    total = 0.5 * p * (a - 1 - log_a) + 0.5 * moved + slack
    if not total < math.inf:
        raise InputError("divergence", "a finite number", total, "s is too near 0")
    return max(0.0, float(up(total)))


def squared_distance(w: np.ndarray, w0: np.ndarray) -> float:
    """‖w − w0‖² from above, of float64 arrays.

    A difference and a square are rounded once each; a sum of p terms ≥ 0 in whatever order is off
    by less than p units of 2^{−52} of itself.
    """
    moved = (np.asarray(w, np.float64) - np.asarray(w0, np.float64)).ravel()
    total = float(moved @ moved)
    return float(up(total * (1 + (moved.size + 8) * 2.0**-52)))

"""Empirical Bernstein: a bound that shrinks with the variance of the losses.

For n ≥ 2 independent, identically distributed losses in [0, 1] with average z̄ and sample variance
V = Σ(z_i − z̄)²/(n − 1), with probability at least 1 − δ (Maurer and Pontil 2009, Theorem 4),

    μ ≤ z̄ + √(2 V ln(2/δ)/n) + 7 ln(2/δ)/(3(n − 1)).

The 2 is there because an event for the average and one for the variance share δ.

>>> round(empirical_bernstein(np.array([0.0, 0.25, 0.5, 0.25] * 25), 3.0), 4)
0.3853
"""

from __future__ import annotations

import math

import numpy as np

from dudley.certificates.methods.hold_out.interval import INTERVALS, mean_up
from dudley.core.rounding import up


@INTERVALS.register("empirical-bernstein")
def empirical_bernstein(losses: np.ndarray, c: float) -> float:
    """From average and variance; 1 for a single loss.

    Σ(z_i − m)² is least at m = z̄, so a rounded average only raises it.
    """
    n = len(losses)
    if n < 2:
        return 1.0
    squares = (losses - losses.mean()) ** 2
    V = up(math.fsum(squares.tolist()) / (n - 1), 16)
    nats = up(c + math.log(2))
    return float(up(mean_up(losses) + math.sqrt(2 * V * nats / n) + 7 * nats / (3 * (n - 1)), 32))

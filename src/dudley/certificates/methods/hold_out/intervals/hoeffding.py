"""Hoeffding: what the range alone gives.

For independent losses in [0, 1] with mean μ and average z̄, and t > 0 (Hoeffding 1963, Theorem 1),

    P[z̄ ≤ μ − t] ≤ e^{−n kl(μ−t‖μ)} ≤ e^{−2nt²}.

The second inequality gives z̄ + √(c/2n). (`.hoeffding_kl` takes the first.)

>>> round(hoeffding(np.array([0.0, 0.25, 0.5, 0.25] * 25), 3.0), 4)
0.3725
"""

from __future__ import annotations

import math

import numpy as np

from dudley.certificates.methods.hold_out.interval import INTERVALS, mean_up
from dudley.core.rounding import up


@INTERVALS.register("hoeffding")
def hoeffding(losses: np.ndarray, c: float) -> float:
    """z̄ + √(c/2n)."""
    return float(up(mean_up(losses) + up(math.sqrt(up(c / (2 * len(losses)))))))

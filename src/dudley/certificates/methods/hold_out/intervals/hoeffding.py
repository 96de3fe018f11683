"""Hoeffding: what the range alone gives, in two forms.

For independent losses in [0, 1] with mean μ and average z̄, and t > 0 (Hoeffding 1963, Theorem 1),

    P[z̄ ≤ μ − t] ≤ e^{−n kl(μ−t‖μ)} ≤ e^{−2nt²}.

The second inequality gives z̄ + √(c/2n). The first gives kl⁻¹(z̄, c/n) = max{p : kl(z̄‖p) ≤ c/n},
which is never larger: with a the point below μ where n·kl(a‖μ) = c, the bound is below μ exactly if
z̄ < a, and P[z̄ ≤ a] ≤ e^{−c}.

>>> z = np.array([0.0, 0.25, 0.5, 0.25] * 25)
>>> round(hoeffding(z, 3.0), 4), round(hoeffding_kl(z, 3.0), 4)
(0.3725, 0.3645)
"""

from __future__ import annotations

import math

import numpy as np

from dudley.certificates.inversion import kl_upper
from dudley.certificates.methods.hold_out.interval import INTERVALS, mean_up
from dudley.core.rounding import up


@INTERVALS.register("hoeffding")
def hoeffding(losses: np.ndarray, c: float) -> float:
    """z̄ + √(c/2n)."""
    return float(up(mean_up(losses) + up(math.sqrt(up(c / (2 * len(losses)))))))


@INTERVALS.register("hoeffding-kl")
def hoeffding_kl(losses: np.ndarray, c: float) -> float:
    """kl⁻¹(z̄, c/n)."""
    return kl_upper(mean_up(losses), float(up(c / len(losses))))

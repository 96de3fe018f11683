"""Hoeffding's inequality before it is simplified: the inverse of a divergence.

For independent losses in [0, 1] with mean μ and average z̄, and t > 0 (Hoeffding 1963, Theorem 1),
P[z̄ ≤ μ − t] ≤ e^{−n kl(μ−t‖μ)}. This gives kl⁻¹(z̄, c/n) = max{p : kl(z̄‖p) ≤ c/n}, which is never
above z̄ + √(c/2n): with a the point below μ where n·kl(a‖μ) = c, the bound is below μ exactly if
z̄ < a, and P[z̄ ≤ a] ≤ e^{−c}.

>>> round(hoeffding_kl(np.array([0.0, 0.25, 0.5, 0.25] * 25), 3.0), 4)
0.3645
"""

from __future__ import annotations

import numpy as np

from dudley.calculus.inversion import kl_upper
from dudley.certificates.methods.hold_out.interval import INTERVALS, mean_up
from dudley.core.rounding import up


@INTERVALS.register("hoeffding-kl")
def hoeffding_kl(losses: np.ndarray, c: float) -> float:
    """kl⁻¹(z̄, c/n)."""
    return kl_upper(mean_up(losses), float(up(c / len(losses))))

"""Clopper and Pearson: the exact bound for losses 0 and 1.

With k errors among n, the bound is max{p : P[Bin(n, p) ≤ k] ≥ δ}. It is below the risk p only where
P[Bin(n, p) ≤ k] < δ, which happens for the k up to some k₀ only, and these have probability < δ
together (Clopper and Pearson 1934; one-sided here: all of δ is on this side).

>>> round(clopper_pearson(np.array([0.0] * 97 + [1.0] * 3), 3.0), 4)
0.0758
"""

from __future__ import annotations

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.methods.hold_out.interval import INTERVALS
from dudley.core.errors import InputError


@INTERVALS.register("clopper-pearson")
def clopper_pearson(losses: np.ndarray, c: float) -> float:
    """From the number of ones."""
    odd = losses[(losses != 0) & (losses != 1)]
    if len(odd):
        raise InputError("clopper-pearson", "losses 0 and 1", f"a loss of {odd[0]:g}")
    return binomial_upper(int(losses.sum()), len(losses), c)

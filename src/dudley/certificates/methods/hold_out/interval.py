"""Intervals: upper confidence bounds on the mean of n independent losses in [0, 1].

Each is a function of the losses and of c = ln(1/δ): for a true mean μ it falls below μ with
probability at most δ. But for ``betting`` none depends on their order. Which one is used is
declared before the losses are seen; the smallest of several pays the logarithm of their number.

>>> round(upper("hoeffding", np.array([0.0, 0.25, 0.5, 0.25] * 25), 3.0), 3)
0.372
>>> upper("clopper-pearson", np.array([0.0, 0.25]), 3.0)
Traceback (most recent call last):
dudley.core.errors.InputError: clopper-pearson: expected losses 0 and 1, got a loss of 0.25
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dudley.core.errors import InputError
from dudley.core.registry import Registry
from dudley.core.rounding import up

INTERVALS: Registry[Callable[[np.ndarray, float], float]] = Registry(
    "interval", "dudley.certificates.methods.hold_out.intervals.{name}"
)


def upper(name: str, losses: np.ndarray, c: float) -> float:
    """The bound of one interval, at most 1."""
    interval = INTERVALS[name]
    losses = np.asarray(losses, np.float64)
    if losses.ndim != 1 or len(losses) == 0 or not (0 <= losses.min() <= losses.max() <= 1):
        raise InputError("losses", "a list of numbers in [0, 1]", f"shape {losses.shape}")
    if not 0 < c < math.inf:
        raise InputError("ln(1/δ)", "a finite number > 0", c)
    return min(1.0, interval(losses, c))


def mean_up(losses: np.ndarray) -> float:
    """The mean, from above."""
    return float(min(1.0, up(math.fsum(losses.tolist()) / len(losses))))

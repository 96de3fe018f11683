"""Deviate: from a complexity to a statement with confidence (McDiarmid), losses in [0, b].

With probability ≥ 1 − δ, for all f at once:

* a priori (a bound on R̂ that holds for every sample): risk ≤ train + 2R + b√(ln(1/δ)/2n);
* empirical, one-sided (R̂ of this sample):            risk ≤ train + 2R̂ + 3b√(ln(1/δ)/2n);
* empirical, two-sided:                              |risk − train| ≤ 2R̂ + 3b√(ln(2/δ)/2n).

The empirical forms apply McDiarmid once, to sup(risk − train) − 2R̂, whose bounded differences
are 3b/n. A loss with |ℓ| ≤ c has b = 2c.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dudley.core.errors import InputError

FORMS = {"a-priori": (1, 1), "empirical": (3, 1), "two-sided": (3, 2)}


def deviation(
    n: ArrayLike, δ: float, b: float = 1.0, form: str = "a-priori", paid: float = 0.0
) -> np.ndarray:
    """The deviation term; ``paid`` are the nats of a union bound, charged to δ.

    >>> round(float(deviation(10_000, 0.05)), 5)
    0.01224
    """
    if not 0 < δ < 1:
        raise InputError("delta", "a number strictly between 0 and 1", δ)
    if form not in FORMS:
        raise InputError("form", " or ".join(FORMS), form)
    for what, value, least in (("n", n, 1), ("loss.range", b, 0), ("union nats", paid, 0)):
        if not np.all(np.greater_equal(value, least)):
            raise InputError(what, f"a number ≥ {least}", value)
    factor, sides = FORMS[form]
    # nats are halved, as 2n may overflow where n does not
    return factor * b * np.sqrt((math.log(sides / δ) + paid) / 2 / np.asarray(n, dtype=float))


def log10_first(gaps: Callable[[np.ndarray], np.ndarray], target: float) -> float:
    """log₁₀ of the n from which a falling function of log n is at most the target."""
    low, high = 0.0, 64.0
    while gaps(np.array([high]))[0] > target:
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    while high - low > 1e-4:
        sizes = np.linspace(low, high, 17)
        below = np.flatnonzero(gaps(sizes) <= target)
        first = below[0] if below.size else len(sizes) - 1
        low, high = sizes[max(first - 1, 0)], sizes[first]
        if first == 0:
            break
    return float(high / math.log(10))

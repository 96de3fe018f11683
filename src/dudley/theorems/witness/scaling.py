"""Scaling by powers of two, so that squares neither leave the floats nor vanish.

Below 1e-154 and above 1e154 the square of a float is lost, and with it any norm that sums squares:
a ball would hold what lies outside of it, a distance would be 0 or infinite.
"""

from __future__ import annotations

import numpy as np


def near_one(F: np.ndarray) -> tuple[np.ndarray, int]:
    """F/2^p with a largest entry between ½ and 1, and p; exact, but for what is 1e-300 of it.

    >>> scaled, power = near_one(np.array([3e200, -1e200]))
    >>> (scaled * 2.0**power).tolist(), bool(0.5 <= scaled.max() < 1)
    ([3e+200, -1e+200], True)
    """
    power = int(np.frexp(np.abs(F).max(initial=0.0))[1])
    return np.ldexp(F, -power), power


def lengths(V: np.ndarray) -> np.ndarray:
    """The ℓ2 norms along the last axis.

    >>> lengths(np.array([[3e-200, 4e-200], [3.0, 4.0]])).tolist()
    [5e-200, 5.0]
    """
    V = np.asarray(V, dtype=float)
    powers = np.frexp(np.abs(V).max(axis=-1, initial=0.0))[1]
    return np.ldexp(np.linalg.norm(np.ldexp(V, -powers[..., None]), axis=-1), powers)

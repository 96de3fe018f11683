"""Is there a trend? The slope of a line with its interval, and a test that it is small.

Not to find a slope is no proof that there is none: that needs an equivalence test. Two one-sided
tests (TOST) reject |slope| ≥ margin at level α exactly if the slope's 1 − 2α interval lies inside
(−margin, margin). The margin is chosen before the data are seen.

    y = a + slope · x + error,   slope ± t_{n−2} · error(slope)

With ``robust`` the error is HC3's (MacKinnon and White 1985), right also where the scatter of y
depends on x; with ``groups`` the clusters' (rows of one group are dependent), with n_groups − 1
degrees. TOST: Schuirmann (1987). A line is a law: it carries a test of its fit (`goodness`).

>>> import numpy as np
>>> x = np.arange(20.0)
>>> up = slope(x, 0.5 * x + np.sin(7 * x))
>>> round(up.slope, 1), up.lowest > 0
(0.5, True)
>>> equivalence(up, margin=0.1).equivalent
False
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import t as student

from dudley.core.errors import InputError
from dudley.lab.statistics.goodness import NO_LAW, GoodnessOfFit, lack_of_fit


@dataclass(frozen=True)
class Slope:
    """A slope, its standard error and interval; ``degrees`` of freedom may be infinite.

    ``goodness`` tests the line; of a mean or a difference, where none was fitted, it is `NO_LAW`.
    """

    slope: float
    error: float
    lowest: float
    highest: float
    degrees: float
    goodness: GoodnessOfFit
    intercept: float = 0.0
    p: float = 1.0  # of "no slope", two-sided


@dataclass(frozen=True)
class Equivalence:
    """Is the value inside ±margin? ``p`` of the larger one-sided test; the 1 − 2α interval."""

    equivalent: bool
    p: float
    lowest: float
    highest: float
    margin: float


def slope(x: Any, y: Any, level: float = 0.95, robust: bool = True, groups: Any = None) -> Slope:
    """The least-squares slope of y on x, with Fisher's test of lack of fit."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or x.ndim != 1 or len(np.unique(x)) < 2 or len(x) < 3:
        raise InputError("x and y of a trend", "as many of each, two x, three points", x.shape)
    X = np.stack([np.ones_like(x), x], 1)
    inverse = np.linalg.inv(X.T @ X)
    a, b = inverse @ X.T @ y
    left = y - a - b * x
    degrees = float(len(x) - 2)
    if groups is not None:
        labels = np.unique(np.asarray(groups), return_inverse=True)[1]
        count = int(labels.max()) + 1
        if count < 3:
            raise InputError("groups of a trend", "at least three", count)
        sums = np.stack([np.bincount(labels, X[:, j] * left) for j in (0, 1)], 1)
        factor = count / (count - 1) * (len(x) - 1) / (len(x) - 2)
        spread, degrees = factor * sums.T @ sums, float(count - 1)
    elif robust:
        leverage = np.einsum("ij,jk,ik->i", X, inverse, X)
        weight = (left / np.maximum(1 - leverage, 1e-12)) ** 2
        spread = (X * weight[:, None]).T @ X
    else:
        spread = (X.T @ X) * (left @ left) / degrees
    error = float(np.sqrt(max(0.0, (inverse @ spread @ inverse)[1, 1])))
    return replace(estimate(float(b), error, degrees, level, float(a)), goodness=lack_of_fit(x, y))


def estimate(
    value: float, error: float, degrees: float = np.inf, level: float = 0.95, intercept: float = 0.0
) -> Slope:
    """A value that was estimated elsewhere, with its standard error, as a `Slope`."""
    half = float(student.ppf(0.5 + level / 2, degrees)) * error
    p = 2 * float(student.sf(abs(value) / error, degrees)) if error > 0 else float(value == 0)
    return Slope(value, error, value - half, value + half, degrees, NO_LAW, intercept, p)


def welch(a: Any, b: Any, level: float = 0.95) -> Slope:
    """mean(a) − mean(b) of independent values whose scatters may differ (Welch, 1947).

    >>> contrast = welch([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    >>> contrast.slope, contrast.degrees
    (2.0, 2.0)
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    whole = va + vb
    degrees = whole**2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)) if whole > 0 else np.inf
    return estimate(float(a.mean() - b.mean()), float(np.sqrt(whole)), float(degrees), level)


def equivalence(slope: Slope, margin: float, alpha: float = 0.05) -> Equivalence:
    """Two one-sided tests of |slope| ≥ margin."""
    if not margin > 0:
        raise InputError("margin of equivalence", "a positive number", margin)
    half = float(student.ppf(1 - alpha, slope.degrees)) * slope.error
    lowest, highest = slope.slope - half, slope.slope + half
    if slope.error > 0:
        distances = np.array([margin - slope.slope, margin + slope.slope]) / slope.error
        p = float(student.sf(distances, slope.degrees).max())
    else:
        p = float(abs(slope.slope) >= margin)
    return Equivalence(-margin < lowest and highest < margin, p, lowest, highest, margin)

"""Rates: the slope of log mean against log n, with an interval, and ratios of means.

Trials are drawn again within each n (what n are looked at is design, not chance); a mean that is
known by its standard error scatters like a normal variable; one below `SOUND` errors, whose
logarithm hardly has a scatter, is left out.
Whether a power of n fits at all is tested by χ²: log means against the weighted line, with the
scatter of the draws as standard errors. Exact values have local exponents instead of a test.

>>> n = np.repeat([100, 400, 1600], 50)
>>> values = np.random.default_rng(0).exponential(3.0 / n)
>>> slope = rate(n, values, draws=500, seed=1)
>>> slope.lowest < -1 < slope.highest
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.core.errors import InputError
from dudley.lab.statistics.bootstrap import Scatter
from dudley.lab.statistics.goodness import GoodnessOfFit, chi_square, deviation, untested

TINY = 1e-300
SOUND = 3  # standard errors that a mean must have to be fitted on a log scale


@dataclass(frozen=True)
class Rate:
    """An exponent of n, its interval, and the test of the law.

    ``low`` and ``high`` are the means' intervals by n.
    """

    slope: float
    lowest: float
    highest: float
    goodness: GoodnessOfFit
    n: list[int]
    means: list[float]
    low: list[float]
    high: list[float]


def rate(n: Any, values: Any, draws: int, seed: int, level: float = 0.95) -> Rate:
    """From one value a trial."""
    sizes, means, drawn = resampled(n, values, draws, seed)
    return _rate(sizes, means, drawn, level)


def rate_of_means(
    n: Any, means: Any, errors: Any, draws: int, seed: int, level: float = 0.95
) -> Rate:
    """From means with standard errors, one for each n.

    >>> law = rate_of_means([10, 20, 40, 80], [8.0, 4.0, 2.0, 1e-9], [0.1, 0.1, 0.1, 0.1], 99, 0)
    >>> law.n, law.lowest < -1 < law.highest
    ([10, 20, 40], True)
    """
    n, means, errors = (np.asarray(part, float) for part in (n, means, errors))
    usable = sound(means, errors)
    n, means, errors = n[usable], means[usable], errors[usable]
    drawn = means + errors * np.random.default_rng(seed).standard_normal((draws, len(n)))
    return _rate(n, means, drawn, level)


def sound(means: Any, errors: Any) -> np.ndarray:
    """Which means lie far enough above 0 for a logarithm."""
    means = np.asarray(means, float)
    return (means > 0) & (means >= SOUND * np.asarray(errors, float))


def resampled(
    n: Any, values: Any, draws: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sizes, the means by size, and the means of trials drawn again, (draws, sizes)."""
    n, values = np.asarray(n), np.asarray(values, float)
    if n.shape != values.shape or n.ndim != 1 or not np.isfinite(values).all():
        raise InputError("values of a rate", "a finite one for each trial", values.shape)
    generator, sizes = np.random.default_rng(seed), np.unique(n)
    samples = [values[n == size] for size in sizes]
    drawn = [
        part[generator.integers(len(part), size=(draws, len(part)))].mean(1) for part in samples
    ]
    return sizes, np.array([part.mean() for part in samples]), np.stack(drawn, 1)


def log_ratio(
    n: Any, left: Any, other: Any, draws: int, seed: int, paired: bool, level: float = 0.95
) -> Scatter:
    """log(mean of one / mean of other), averaged over the n.

    ``paired``: row i of both had the same data, so both are drawn again together; else apart.
    """
    _, _, first = resampled(n, left, draws, seed)
    _, _, second = resampled(n, other, draws, seed if paired else seed + 1)
    return Scatter.of(_logs(first / np.maximum(second, TINY)).mean(1), level)


@dataclass(frozen=True)
class ExactPower:
    """The exponent of n of exact values; ``local`` are the least and the largest of neighbours."""

    exponent: float
    local: tuple[float, float]
    goodness: GoodnessOfFit

    def as_json(self) -> dict[str, Any]:
        return {
            "exponent": self.exponent,
            "local": list(self.local),
            "goodness": self.goodness.as_json(),
        }


def exact_power(n: Any, values: Any) -> ExactPower:
    """The least-squares line of log values on log n, of numbers that are known exactly.

    >>> law = exact_power([1, 2, 4], [1.0, 4.0, 16.0])
    >>> round(law.exponent, 12), law.goodness.against
    (2.0, 'exact values, at most 0.0% off')
    """
    x, y = np.log(np.asarray(n, float)), _logs(np.asarray(values, float))
    slope, intercept = np.polyfit(x, y, 1)
    local = np.diff(y) / np.diff(x)
    few = len(x) < 3
    goodness = (
        untested("two values") if few else deviation(np.exp(y), np.exp(intercept + slope * x))
    )
    return ExactPower(float(slope), (float(local.min()), float(local.max())), goodness)


def _rate(sizes: np.ndarray, means: np.ndarray, drawn: np.ndarray, level: float) -> Rate:
    if len(sizes) < 2:
        raise InputError("sizes of a rate", "at least two", len(sizes))
    scatter = Scatter.of(_slopes(sizes, drawn), level)
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    summary = ([int(x) for x in sizes], means.tolist(), low.tolist(), high.tolist())
    goodness = chi_square(np.log(np.asarray(sizes, float)), _logs(means), _logs(drawn).std(0))
    slope = float(_slopes(sizes, means[None])[0])
    return Rate(slope, scatter.lowest, scatter.highest, goodness, *summary)


def _logs(values: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(values, TINY))


def _slopes(sizes: np.ndarray, values: np.ndarray) -> np.ndarray:
    x = np.log(np.asarray(sizes, float))
    x = x - x.mean()
    return _logs(values) @ x / (x @ x)

"""How long until something happens, as a law in T, where some were not watched long enough.

    log t = κ + β log T + σ·e,   e standard normal, or the logarithm of a standard exponential

so that the median time grows as T^β, times are log-normal or Weibull's, and σ is their scatter.
What had not happened by the end of watching is censored there: it counts with the probability of
a later time, not as a time. β has a profile interval. The law is tested by the deviance against a
κ and a σ for every T with two events or more, and a κ for the others; T without any event add
nothing that could be estimated, and stay in the law alone. With few times a T the χ² of that
deviance rejects true laws somewhat too often: its p is a rough one.

Kalbfleisch and Prentice (2002), The statistical analysis of failure time data, chapter 3.

>>> rng = np.random.default_rng(0)
>>> T = np.repeat([10.0, 20.0, 40.0], 40)
>>> times = 0.01 * T**3 * np.exp(0.3 * rng.normal(size=120))
>>> law = waiting_law(T, np.minimum(times, 500.0), times < 500.0)
>>> law.lowest < 3 < law.highest, law.goodness.rejected()
(True, False)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr

from dudley.core.errors import InputError
from dudley.lab.statistics.goodness import GoodnessOfFit, deviance
from dudley.lab.statistics.logistic import largest, profile

ROOT = 0.5 * np.log(2 * np.pi)


def _normal(z: np.ndarray) -> np.ndarray:
    return -(z**2) / 2 - ROOT


# The logarithms of density and of the probability of more, and the median of e.
SHAPES: dict[str, tuple[Callable, Callable, float]] = {
    "log-normal": (_normal, lambda z: log_ndtr(-z), 0.0),
    "Weibull": (lambda z: z - np.exp(z), lambda z: -np.exp(z), float(np.log(np.log(2)))),
}
RANGE = (-1.0, 12.0)  # of β
SCATTERS = (np.log(0.01), np.log(10.0))  # of log σ; times that agree would make it 0


@dataclass(frozen=True)
class WaitingLaw:
    """β with its interval, the medians it gives, and the test of the law."""

    shape: str
    exponent: float
    lowest: float
    highest: float
    κ: float
    σ: float
    goodness: GoodnessOfFit

    def median(self, T: Any) -> Any:
        """The median time at T."""
        middle = SHAPES[self.shape][2]
        return np.exp(self.κ + self.exponent * np.log(T) + self.σ * middle)[()]

    def as_json(self) -> dict[str, Any]:
        return {
            "shape": self.shape, "exponent": self.exponent,
            "interval": [self.lowest, self.highest], "κ": self.κ, "σ": self.σ,
            "goodness": self.goodness.as_json(),
        }  # fmt: skip


def waiting_law(
    T: Any, times: Any, happened: Any, shape: str = "log-normal", level: float = 0.95
) -> WaitingLaw:
    """From times of the event, or of the end of watching where ``happened`` is false."""
    T, t, event = np.asarray(T, float), np.asarray(times, float), np.asarray(happened, bool)
    if shape not in SHAPES:
        raise InputError("shape of waiting times", " | ".join(SHAPES), shape)
    if len(np.unique(T[event])) < 2 or event.sum() < 3 or not (t > 0).all():
        raise InputError("waiting times", "events at two T, three in all", int(event.sum()))
    u = np.log(T) - np.log(T).mean()

    @cache
    def at(β: float) -> tuple[float, float, float]:
        """The best log-likelihood, κ and σ, for a given β."""
        return located(np.log(t) - β * u, event, shape)

    def best_at(β: float) -> float:
        return at(float(β))[0]

    value, _ = largest(best_at, *RANGE)
    interval = profile(best_at, *RANGE, level)
    likelihood, κ, σ = at(value)
    free, parameters = 0.0, 0
    for length in np.unique(T):
        rows = length == T
        count = int(event[rows].sum())
        if count >= 2:
            free += located(np.log(t[rows]), event[rows], shape)[0]
        elif count == 1:
            free += located(np.log(t[rows]), event[rows], shape, σ)[0]
        parameters += min(2, count)
    against = "a distribution of its own at every T"
    goodness = replace(deviance(free, likelihood, parameters - 3, against), rough=True)
    κ -= value * float(np.log(T).mean())
    return WaitingLaw(shape, value, interval.lowest, interval.highest, κ, σ, goodness)


def located(
    y: np.ndarray, event: np.ndarray, shape: str, σ: float | None = None
) -> tuple[float, float, float]:
    """The best log-likelihood of logarithms y with one place and scatter, these two; σ if fixed."""
    density, more, _ = SHAPES[shape]

    def loss(at: np.ndarray) -> float:
        scatter = float(np.exp(np.clip(at[1], *SCATTERS))) if σ is None else σ
        z = np.clip((y - at[0]) / scatter, -500, 500)
        seen = density(z[event]) - np.log(scatter)
        return -float(seen.sum() + more(z[~event]).sum())

    start = np.array([y[event].mean(), np.log(max(0.1, float(y[event].std())))])
    best: Any = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-10,
                                                                     "maxiter": 4000})  # fmt: skip
    scatter = float(np.exp(np.clip(best.x[1], *SCATTERS))) if σ is None else σ
    return -float(best.fun), float(best.x[0]), scatter

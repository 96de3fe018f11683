"""How the sample size that a task needs grows with T: success rates, crossings, laws.

A cell is (T, m) with k successes among n trials. The critical m of T is the first m of the grid
with rate > ½; infinite where there is none. Laws for it are fitted to all cells at once,

    logit p = b (log m − log m_c(T)),     power: log m_c = κ + α log T,   log: m_c = κ' + γ log T,
                                          power of log: log m_c = κ + q log log T,

in which b is one number, or ``tilted``, b₀ + b₁ log(T/T₀), since curves may flatten as T grows, or
``free``, another at each T. For the second law θ = λ with m_c = m₀ (1 + λ log(T/T₀)), T₀ the
geometric mean, so γ = λ m₀. θ has a profile interval, wider by the root of the dispersion. Laws are
compared by the likelihood of each T under the fit to the other T, and each is tested against a
logistic curve of its own at every T, by the deviance (`goodness`): with ``free`` slopes that tests
the law of m_c alone. The test takes trials for independent; the dispersion is stated beside it.

>>> import numpy as np
>>> T, m = (a.ravel() for a in np.meshgrid([100, 200, 400, 800], range(50, 300, 10)))
>>> p = 1 / (1 + np.exp(-6 * (np.log(m) - 2.0 - 0.5 * np.log(T))))
>>> cells = Cells(T, m, np.round(1000 * p), np.full(len(T), 1000))
>>> fitted = law(cells, "power")
>>> round(fitted.θ.value, 2), round(float(fitted.critical(400)))            # e² · 20
(0.5, 148)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dudley.core.errors import InputError
from dudley.lab.statistics.bootstrap import Scatter, resampled_counts
from dudley.lab.statistics.goodness import GoodnessOfFit, deviance
from dudley.lab.statistics.logistic import (
    Fit,
    Profile,
    fit,
    largest,
    log_likelihoods,
    maximise,
    profile,
)

LAWS = ("power", "log", "power of log")
SLOPES = ("one", "tilted", "free")
EXPONENTS = {"power": (-0.5, 2.5), "power of log": (-2.0, 10.0)}
LAPSES = 0.02  # of predictions for cells left out: a law may be wrong without being infinitely so


@dataclass(frozen=True, eq=False)
class Cells:
    """Successes by cell, in increasing (T, m)."""

    T: np.ndarray
    m: np.ndarray
    successes: np.ndarray
    trials: np.ndarray

    @classmethod
    def of(cls, T: Any, m: Any, success: Any) -> Cells:
        """From one row a trial."""
        pairs, cell = np.unique(np.stack([T, m], 1), axis=0, return_inverse=True)
        cell = cell.ravel()
        counts = np.bincount(cell, np.asarray(success, float)), np.bincount(cell)
        return cls(pairs[:, 0], pairs[:, 1], counts[0], counts[1].astype(float))

    @property
    def lengths(self) -> np.ndarray:
        """The different T."""
        return np.unique(self.T)

    def only(self, where: np.ndarray) -> Cells:
        return Cells(self.T[where], self.m[where], self.successes[where], self.trials[where])

    def check(self) -> Cells:
        """Themselves, where laws can be fitted."""
        if len(self.lengths) < 2 or not 0 < self.successes.sum() < self.trials.sum():
            expected = "two T, and both successes and failures"
            raise InputError("cells", expected, f"T {self.lengths}, {self.successes.sum():g}")
        return self


def first_crossing(m: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The smallest m with rate > ½, along the last axis; infinite where there is none."""
    above = np.asarray(rates) > 0.5
    return np.where(above.any(-1), np.asarray(m, float)[above.argmax(-1)], np.inf)


def critical(cells: Cells, draws: int, seed: int) -> dict[int, tuple[float, Scatter]]:
    """By T: the first crossing, and its scatter when trials are drawn again."""
    by_length = {}
    for i, T in enumerate(cells.lengths):
        of_length = cells.only(cells.T == T)
        drawn = resampled_counts(of_length.successes, of_length.trials.astype(int), draws, seed + i)
        value = first_crossing(of_length.m, of_length.successes / of_length.trials)
        by_length[int(T)] = (
            float(value),
            Scatter.of(first_crossing(of_length.m, drawn / of_length.trials)),
        )
    return by_length


@dataclass(frozen=True, eq=False)
class LawFit:
    """A law fitted to cells: θ with its interval, the rest at the best θ, and the test of it."""

    name: str
    slopes: str
    θ: Profile
    κ: float
    b: np.ndarray  # b₀, and b₁ where it is tilted; one for each T where it is free
    dispersion: float
    deviance: float
    middle: float  # log T₀
    goodness: GoodnessOfFit

    def critical(self, T: Any) -> Any:
        """m_c(T)."""
        return np.exp(self.κ + _bend(self.name, T, self.middle, self.θ.value))[()]

    def likelihoods(self, cells: Cells) -> np.ndarray:
        """The log-likelihoods of other cells, with `LAPSES`."""
        if self.slopes == "free":
            raise InputError("slopes of a prediction", "one or tilted", "free")
        v = np.log(cells.m) - self.κ - _bend(self.name, cells.T, self.middle, self.θ.value)
        X = _slopes(self.slopes, cells, self.middle) * v[:, None]
        return log_likelihoods(X, cells.successes, cells.trials, self.b, LAPSES)


def law(cells: Cells, name: str, slopes: str = "one", level: float | None = 0.95) -> LawFit:
    """Fit a law of `LAWS` with slopes of `SLOPES`; without a level, no interval.

    θ is α of ``power``, λ of ``log``, q of ``power of log``.
    """
    if name not in LAWS:
        raise InputError("law", " | ".join(LAWS), name)
    if slopes not in SLOPES:
        raise InputError("slopes of a law", " | ".join(SLOPES), slopes)
    cells.check()
    middle = float(np.log(cells.lengths).mean())
    B = _slopes(slopes, cells, middle)
    warm: list[np.ndarray] = []  # where searches for other θ ended

    @cache
    def at(θ: float) -> tuple[float, Fit]:
        """κ and the fit, for a given θ."""
        v = np.log(cells.m) - _bend(name, cells.T, middle, θ)
        plain = fit(np.stack([np.ones_like(v), v], 1), cells.successes, cells.trials)
        slope = plain.beta[1] if abs(plain.beta[1]) > 1e-12 else 1e-12
        κ = float(-plain.beta[0] / slope)
        if slopes == "one":
            return κ, plain

        def logit(β: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            b, X = B @ β[1:], B * (v - β[0])[:, None]
            return X @ β[1:], np.column_stack([-b, X])

        def climbed(β: np.ndarray) -> float:
            η = logit(β)[0]
            return float((cells.successes * η - cells.trials * np.logaddexp(0, η)).sum())

        equal = np.full(B.shape[1], plain.beta[1])
        if slopes == "tilted":
            equal[1] = 0.0
        starts = [np.concatenate([[κ], equal]), *warm[-1:]]
        best = maximise(logit, max(starts, key=climbed), cells.successes, cells.trials)
        warm.append(best.beta)
        return float(best.beta[0]), best

    def best_at(θ: float) -> float:
        return at(float(θ))[1].likelihood

    if name == "log":
        reach = np.log(cells.lengths) - middle
        lowest, highest = -0.5 / reach.max(), 0.98 / -reach.min()
    else:
        lowest, highest = EXPONENTS[name]
    value, top = largest(best_at, lowest, highest)
    κ, fitted = at(value)
    parameters = len(fitted.beta) + 1
    dispersion = fitted.dispersion * fitted.degrees / max(1, len(cells.T) - parameters)
    θ = Profile(value, np.nan, np.nan, top)
    if level is not None:
        θ = profile(best_at, lowest, highest, level, dispersion)
    free, count = free_curves(cells)
    goodness = deviance(free, fitted.likelihood, count - parameters, "free curves at every T")
    b = fitted.beta[1:]
    return LawFit(name, slopes, θ, κ, b, dispersion, fitted.deviance, middle, goodness)


def free_curves(cells: Cells) -> tuple[float, int]:
    """The log-likelihood of a logistic curve of its own at every T, and how many parameters.

    A T without both successes and failures has likelihood 1 with one parameter.
    """
    total, parameters = 0.0, 0
    for T in cells.lengths:
        of_length = cells.only(cells.T == T)
        if not 0 < of_length.successes.sum() < of_length.trials.sum():
            parameters += 1
            continue
        X = np.stack([np.ones(len(of_length.m)), np.log(of_length.m)], 1)
        total += fit(X, of_length.successes, of_length.trials).likelihood
        parameters += 2
    return total, parameters


def held_out(cells: Cells, name: str, slopes: str = "one") -> np.ndarray:
    """The log-likelihood of every cell under the law fitted to all other T."""
    half = np.empty(len(cells.T))
    for T in cells.lengths:
        of_length = cells.T == T
        half[of_length] = law(cells.only(~of_length), name, slopes, None).likelihoods(
            cells.only(of_length)
        )
    return half


def by_block(cells: Cells, draws: int, seed: int) -> Scatter:
    """α when cells are drawn again whole, within each T: right also where trials of one cell are
    dependent, or the curve is no logistic one."""
    cells.check()
    generator = np.random.default_rng(seed)
    groups = [np.flatnonzero(cells.T == T) for T in cells.lengths]
    values = []
    for _ in range(draws):
        rows = np.concatenate([generator.choice(own, len(own)) for own in groups])
        picked = cells.only(rows)
        if 0 < picked.successes.sum() < picked.trials.sum():
            values.append(exponent(picked))
    return Scatter.of(values)


def exponent(cells: Cells) -> float:
    """α of the power law with one slope b: −(coefficient of log T) / (coefficient of log m)."""
    X = np.stack([np.ones(len(cells.T)), np.log(cells.m), np.log(cells.T)], 1)
    beta = fit(X, cells.successes, cells.trials).beta
    return float(-beta[2] / beta[1])


def _bend(name: str, T: Any, middle: float, θ: float) -> np.ndarray:
    """log m_c − κ at T."""
    u = np.log(T) - middle
    if name == "power of log":
        return θ * np.log(np.log(T) / middle)
    return θ * u if name == "power" else np.log(np.maximum(1 + θ * u, 1e-6))


def _slopes(slopes: str, cells: Cells, middle: float) -> np.ndarray:
    """What the numbers b are multiplied by at each cell, (cells, numbers)."""
    if slopes == "free":
        return (cells.T[:, None] == cells.lengths).astype(float)
    u = np.log(cells.T) - middle
    return np.stack([np.ones_like(u), u], 1) if slopes == "tilted" else np.ones((len(u), 1))

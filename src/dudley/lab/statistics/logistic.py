"""Binomial regression: a generalised linear model with the logit, by reweighted least squares.

    k_i ~ Binomial(n_i, p_i),   log(p_i / (1 − p_i)) = ⟨x_i, β⟩ + offset_i

``dispersion`` is Pearson's χ² over the degrees of freedom: far above 1, the model does not fit, or
trials of a cell are dependent; quasi-likelihood intervals are wider by its root. A profile interval
of a parameter holds the values at which the best log-likelihood is within ½ χ²_{1,level} times
max(1, dispersion) of the best of all.

McCullagh and Nelder (1989), chapters 4 and 9.

>>> import numpy as np
>>> x = np.linspace(-2, 2, 9)
>>> n = np.full(9, 10_000)
>>> k = np.round(n / (1 + np.exp(-(0.5 + 1.5 * x))))
>>> fit(np.stack([np.ones(9), x], 1), k, n).beta.round(2).tolist()
[0.5, 1.5]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, gammaln, xlog1py, xlogy
from scipy.stats import chi2

from dudley.core.errors import InputError

STEPS, TOLERANCE, STEEPEST, POINTS = 60, 1e-10, 60.0, 15


@dataclass(frozen=True)
class Fit:
    """β with its covariance, the log-likelihood, and how well the model fits."""

    beta: np.ndarray
    covariance: np.ndarray
    likelihood: float  # log, with the binomial coefficients
    deviance: float  # twice what a free p in every cell would gain
    dispersion: float
    degrees: int

    @property
    def errors(self) -> np.ndarray:
        """Standard errors of β."""
        return np.sqrt(np.diag(self.covariance))


def fit(X: Any, successes: Any, trials: Any, offset: Any = 0.0) -> Fit:
    """The maximum of the likelihood; X (cells, parameters)."""
    X, k = np.asarray(X, float), np.asarray(successes, float)
    if X.ndim != 2 or len(X) != len(k):
        raise InputError("binomial model", "a row of X for every cell", X.shape)
    scale = np.maximum(np.abs(X).max(0), 1e-300)
    Z, shift = X / scale, np.broadcast_to(np.asarray(offset, float), k.shape)
    best = maximise(lambda beta: (Z @ beta + shift, Z), np.zeros(X.shape[1]), k, trials)
    covariance = best.covariance / np.outer(scale, scale)
    return replace(best, beta=best.beta / scale, covariance=covariance)


def maximise(
    logit: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    successes: Any,
    trials: Any,
) -> Fit:
    """The same for a logit that is any smooth function of β: it gives values and derivatives.

    Fisher's scoring, halving steps that do not climb; it ends where logits grow without end, which
    perfect separation makes them do.
    """
    k, n = np.asarray(successes, float), np.asarray(trials, float)
    if k.shape != n.shape or np.any((k < 0) | (k > n) | (n <= 0)):
        raise InputError("binomial model", "0 ≤ successes ≤ trials in every cell", k.shape)
    if k.sum() in (0, n.sum()):
        raise InputError("binomial model", "both successes and failures", f"{k.sum():g} successes")
    beta = np.asarray(start, float)
    η, J = logit(beta)
    best = _likelihood(k, n, η)
    for _ in range(STEPS):
        p = expit(η)
        weight = np.maximum(n * p * (1 - p), 1e-12)
        information = J.T @ (weight[:, None] * J)
        information[np.diag_indices_from(information)] *= 1 + 1e-10
        step = np.linalg.lstsq(information, J.T @ (k - n * p), rcond=1e-13)[0]
        size, now = 1.0, -np.inf
        while size > 1e-6:
            now = _likelihood(k, n, logit(beta + size * step)[0])
            if now >= best - 1e-12:
                break
            size /= 2
        else:
            break
        gain, best, beta = now - best, max(now, best), beta + size * step
        η, J = logit(beta)
        if gain < TOLERANCE or np.abs(η).max() > STEEPEST:
            break
    p = expit(η)
    weight = np.maximum(n * p * (1 - p), 1e-12)
    covariance = np.linalg.pinv((J * weight[:, None]).T @ J)
    degrees = max(1, len(k) - len(beta))
    pearson = float(((k - n * p) ** 2 / weight).sum())
    free = xlogy(k, k / n) + xlog1py(n - k, -k / n)
    whole = best + float(_coefficients(k, n).sum())
    return Fit(beta, covariance, whole, 2 * float(free.sum() - best), pearson / degrees, degrees)


def log_likelihoods(
    X: Any, successes: Any, trials: Any, beta: Any, lapses: float = 0.0
) -> np.ndarray:
    """Of other cells, one by one, under coefficients found elsewhere.

    With ``lapses`` > 0, that share of predictions is a coin's: p becomes lapses/2 + (1 − lapses) p,
    so that one prediction of 0 or 1 that fails does not outweigh everything else.
    """
    k, n = np.asarray(successes, float), np.asarray(trials, float)
    p = lapses / 2 + (1 - lapses) * expit(np.asarray(X) @ np.asarray(beta))
    return xlogy(k, p) + xlog1py(n - k, -p) + _coefficients(k, n)


def _likelihood(k: np.ndarray, n: np.ndarray, logit: np.ndarray) -> float:
    return float((k * logit - n * np.logaddexp(0, logit)).sum())


def _coefficients(k: np.ndarray, n: np.ndarray) -> np.ndarray:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


@dataclass(frozen=True)
class Profile:
    """The best value of a parameter, its profile interval, and the log-likelihood there."""

    value: float
    lowest: float
    highest: float
    likelihood: float


def largest(
    best_at: Callable[[float], float], lowest: float, highest: float
) -> tuple[float, float]:
    """Where on a range a smooth function is largest, and its value: a grid, then a search."""
    grid = np.linspace(lowest, highest, POINTS)
    values = np.array([best_at(value) for value in grid])
    i = int(values.argmax())
    around = (grid[max(0, i - 1)], grid[min(len(grid) - 1, i + 1)])
    optimum: Any = minimize_scalar(
        lambda v: -best_at(v), bounds=around, method="bounded", options={"xatol": 1e-6}
    )
    if -optimum.fun > values[i]:
        return float(optimum.x), float(-optimum.fun)
    return float(grid[i]), float(values[i])


def profile(
    best_at: Callable[[float], float],
    lowest: float,
    highest: float,
    level: float = 0.95,
    dispersion: float = 1.0,
) -> Profile:
    """From the log-likelihood maximised over all else, ``best_at(value)``, on a range.

    An end of the interval that is not met inside the range is infinite.
    """
    grid = np.linspace(lowest, highest, POINTS)
    value, top = largest(best_at, lowest, highest)
    drop = top - 0.5 * float(chi2.ppf(level, 1)) * max(1.0, dispersion)

    def end(values: np.ndarray, none: float) -> float:
        inner = value
        for tried in values:
            if best_at(tried) < drop:
                ends = sorted((float(inner), float(tried)))
                root: Any = brentq(lambda v: best_at(v) - drop, *ends, xtol=1e-6)
                return float(root)
            inner = tried
        return none

    left = end(grid[grid < value][::-1], -np.inf)
    right = end(grid[grid > value], np.inf)
    return Profile(float(value), left, right, float(top))

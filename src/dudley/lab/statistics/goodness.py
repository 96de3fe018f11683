"""Goodness of fit: does a law describe the data it was fitted to, or only summarise them?

An exponent with a narrow interval says nothing if no power law fits. Every fitted law therefore
carries a `GoodnessOfFit`, which its constructor demands. Four tests are used:

- *deviance*: twice the log-likelihood that a larger model gains, χ² with as many degrees as it has
  more parameters (Wilks, 1938). For success rates the larger model has a logistic curve of its own
  at every T; for waiting times, a distribution of its own at every T.
- *lack of fit*: at every x the mean of several values is compared with the line, by Fisher's F, the
  scatter within x being the measure. It takes the scatter to be the same at every x.
- *chi-square*: means with known standard errors against the law, weighted by them.
- *deviation*: exact values have no scatter, so that there is no p; the largest relative distance
  from the law is stated.

The deviance of few waiting times a T, and lack of fit where the scatter depends on x, reject true
laws somewhat too often: their p is `rough`, and said to be.

A law is rejected at `LEVEL`, shared by the laws that are tested for one thing (`rejects`). A law
that is not rejected is not thereby shown to be true.

>>> import numpy as np
>>> x = np.repeat([1.0, 2.0, 3.0, 4.0], 5)
>>> noise = np.random.default_rng(0).normal(size=20)
>>> lack_of_fit(x, x + 0.1 * noise).rejected(), lack_of_fit(x, x**2 + 0.1 * noise).rejected()
(False, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, f as fisher

from dudley.core.errors import InputError

LEVEL = 0.05


@dataclass(frozen=True)
class GoodnessOfFit:
    """Which test, its statistic and degrees of freedom, and p; p is None where nothing is tested.

    ``against`` says what the law is compared with, or why there is nothing to compare it with.
    """

    test: str
    against: str
    statistic: float | None = None
    degrees: float | None = None
    p: float | None = None
    rough: bool = False

    def __post_init__(self):
        if not self.test or not self.against:
            raise InputError("goodness of fit", "the test, and what it compares with", self.test)
        if self.p is not None and not 0 <= self.p <= 1:
            raise InputError("p of a goodness of fit", "a number from 0 to 1", self.p)

    def rejected(self, laws: int = 1) -> bool:
        """Is the law rejected, where so many laws are tested for one thing?"""
        return rejects(self.p, laws)

    def as_json(self) -> dict[str, Any]:
        return {
            "test": self.test, "against": self.against, "statistic": self.statistic,
            "degrees": self.degrees, "p": self.p, **({"rough": True} if self.rough else {}),
        }  # fmt: skip

    def __str__(self) -> str:
        if self.p is None:
            return f"{self.test}: {self.against}"
        return f"{self.test} against {self.against}: {p_value(self.as_json())}"


def rejects(p: float | None, laws: int = 1) -> bool:
    """Does p reject one of so many laws? They share the level (Bonferroni).

    >>> rejects(0.03), rejects(0.03, laws=3), rejects(None)
    (True, False, False)
    """
    return p is not None and p < LEVEL / laws


def p_value(goodness: dict[str, Any]) -> str:
    """p of a test as files have it, in words.

    >>> p_value({"p": 0.0123, "rough": True}), p_value({"p": None})
    ('p roughly 0.012', 'not tested')
    """
    if goodness["p"] is None:
        return "not tested"
    return f"p {'roughly' if goodness.get('rough') else '='} {goodness['p']:.2g}"


NO_LAW = GoodnessOfFit("none", "an estimate of one number, no law")


def untested(reason: str) -> GoodnessOfFit:
    """Nothing can be tested, and why."""
    return GoodnessOfFit("untested", reason)


def deviance(free: float, law: float, degrees: int, against: str) -> GoodnessOfFit:
    """From the log-likelihoods of a larger model and of the law inside it."""
    if degrees < 1:
        return untested("as many parameters as the larger model has")
    statistic = max(0.0, 2 * (free - law))
    return GoodnessOfFit(
        "deviance", against, statistic, float(degrees), float(chi2.sf(statistic, degrees))
    )


def lack_of_fit(x: Any, y: Any) -> GoodnessOfFit:
    """Of the least-squares line through values y, several at each x."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    places, where, counts = np.unique(x, return_inverse=True, return_counts=True)
    over, within = len(places) - 2, len(y) - len(places)
    if over < 1 or within < 1:
        return untested("too few different x" if over < 1 else "one value at each x")
    means = np.bincount(where, y) / counts
    slope, intercept = np.polyfit(x - x.mean(), y, 1)
    line = intercept + slope * (places - x.mean())
    apart = float((counts * (means - line) ** 2).sum()) / over
    scatter = float(((y - means[where]) ** 2).sum()) / within
    against = "free means at each x"
    if scatter <= 1e-24 * max(1.0, float((y**2).mean())):
        return untested("no scatter at any x")
    ratio = apart / scatter
    p = float(fisher.sf(ratio, over, within))
    return GoodnessOfFit("lack of fit", against, ratio, float(over), p, rough=True)


def chi_square(x: Any, y: Any, errors: Any) -> GoodnessOfFit:
    """Of the weighted line through y with standard errors, one at each x."""
    x, y, errors = (np.asarray(part, float) for part in (x, y, errors))
    use = np.isfinite(y) & (errors > 0) & np.isfinite(errors)
    if use.sum() < 3:
        return untested("fewer than three points with a standard error")
    x, y, w = x[use], y[use], errors[use] ** -2
    middle = (w @ x) / w.sum()
    X = np.stack([np.ones_like(x), x - middle], 1) * np.sqrt(w)[:, None]
    rest = y * np.sqrt(w) - X @ np.linalg.lstsq(X, y * np.sqrt(w), rcond=None)[0]
    statistic, degrees = float(rest @ rest), len(x) - 2
    p = float(chi2.sf(statistic, degrees))
    return GoodnessOfFit("chi-square", "free means at each x", statistic, float(degrees), p)


def deviation(values: Any, law: Any) -> GoodnessOfFit:
    """Of exact positive values from a law: the largest relative distance, without a p."""
    ratio = np.asarray(values, float) / np.asarray(law, float)
    farthest = float(np.abs(np.log(ratio)).max())
    text = f"exact values, at most {np.expm1(farthest):.1%} off"
    return GoodnessOfFit("deviation", text, farthest)

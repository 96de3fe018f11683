"""Forms: from the losses before each update to a bound on the mean risk of the models.

**Setting.** Units z₁, z₂, … are independent draws; h_{t−1} is any function of z₁, …, z_{t−1} and of
coins that are tossed for it; X_t = ℓ(h_{t−1}, z_t)/B lies in [0, 1] and is written down before z_t
is learnt from. Then R_t = E[X_t | the past] is the risk of h_{t−1}. The mean of R_t over a stretch
of m units is R̄. A batch that is predicted by one model is so many units with one R_t: units count,
not batches.

**One rule for all forms.** A form has lines j with weights w_j > 0, Σ w_j ≤ 1, fixed before the
stretch, and for each a number e_j(p) that grows with p, such that, for the true R̄ at every m,

    exp e_j(R̄) ≤ M_j,      M_j a non-negative supermartingale that begins at 1.        (*)

The bound is the least p with Σ_j w_j exp e_j(p) ≥ 1/δ, and B where there is none below.

**Proof that P[R̄ ≥ the bound, at any m] ≤ δ.** Σ w_j M_j is a non-negative supermartingale that
begins at Σ w_j ≤ 1. By Ville's inequality it ever reaches 1/δ with probability at most δ. Where
R̄ ≥ p, (*) and the growth of e_j give Σ w_j M_j ≥ Σ w_j exp e_j(p) ≥ 1/δ. ∎

So the end of the stretch is free: one may look at every step and stop when one likes. Its start is
declared, and so is B.

Lines that are left out, and sums that are rounded to the side where e_j is smaller, only raise the
bound. The float that is returned has Σ_j w_j exp e_j(p) ≥ 1/δ proved by interval arithmetic (Arb).

>>> bounds = {name: upper(name, np.tile([0.0, 0.0, 0.0, 1.0], 5000), 3.0) for name in FORMS}
>>> {name: round(value, 4) for name, value in sorted(bounds.items())}
{'catoni': 0.2604, 'mixture': 0.2604, 'variance': 0.2605}
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dudley.core.errors import InputError
from dudley.core.registry import Registry

FORMS: Registry[type[Tally]] = Registry(
    "form", "dudley.certificates.methods.prequential.forms.{name}"
)
PRECISION = 128
STEP = 2.0**-48  # how far a candidate is moved at first, relative to itself
MANY = 1 << 16  # losses that are worked on at once


class Tally(ABC):
    """Abstract: what a form keeps of the losses in [0, 1] of a stretch, one after the other."""

    name: ClassVar[str]
    most: float = 1.0  # no bound is above

    def __init__(self) -> None:
        self.m = 0

    def add(self, losses: np.ndarray) -> None:
        """Count more losses, in their order."""
        x = expect_losses(losses)
        for first in range(0, len(x), MANY):
            self.count(x[first : first + MANY])
        self.m += len(x)

    @abstractmethod
    def count(self, x: np.ndarray) -> None:
        """Take in at most `MANY` losses that come after ``m`` others."""

    @abstractmethod
    def exponents(self, p: float) -> np.ndarray:
        """ln w_j + e_j(p), about."""

    @abstractmethod
    def exponents_ball(self, p: float, lines: np.ndarray) -> list[Any]:
        """ln w_j + e_j(p) of some lines, enclosed."""

    def worsen(self, units: int) -> None:
        """Count so many of the units, whichever they are, as if their loss were 1 (`recheck`)."""
        fix = "declare the form mixture, or check all units"
        raise InputError("form", "one that bounds a rest that is not checked", self.name, fix)

    def upper(self, c: float) -> float:
        """The bound at δ = e^{−c}; 1 where nothing is proved."""
        return least_refuted(self, c)


def expect_losses(losses: np.ndarray) -> np.ndarray:
    """The losses as floats, refused unless all are in [0, 1]."""
    x = np.asarray(losses, np.float64)
    inside = x.ndim == 1 and (not len(x) or (x.min() >= 0 and x.max() <= 1))
    if not inside:
        got = f"shape {x.shape}" if x.ndim != 1 else f"{x.min():g} to {x.max():g}"
        raise InputError("losses over their limit", "a list of numbers in [0, 1]", got)
    return x


def upper(name: str, losses: np.ndarray, c: float) -> float:
    """The bound of a form on the mean risk, for losses in [0, 1]."""
    tally = FORMS[name]()
    tally.add(losses)
    return tally.upper(c)


def least_refuted(tally: Tally, c: float) -> float:
    """About the least p with Σ_j w_j exp e_j(p) ≥ e^c, moved up until this is proved."""
    if not 0 < c < math.inf:
        raise InputError("ln(1/δ)", "a finite number > 0", c)
    if tally.m == 0:
        return tally.most
    candidate = _candidate(lambda p: _log_sum(tally.exponents(p)) < c, tally.most)
    return _outward(tally, candidate, c)


def _candidate(below: Callable[[float], bool], most: float) -> float:
    low, high = 0.0, most
    for _ in range(200):
        middle = (low + high) / 2
        if high - low <= 2.0**-50 * high or middle in (low, high):
            break
        low, high = (middle, high) if below(middle) else (low, middle)
    return high


def _log_sum(exponents: np.ndarray) -> float:
    top = float(exponents.max())
    return top + math.log(float(np.exp(exponents - top).sum())) if math.isfinite(top) else top


def _outward(tally: Tally, candidate: float, c: float) -> float:
    """The candidate, moved up until Σ_j w_j exp e_j ≥ e^c is proved for the lines that matter."""
    from flint import arb, ctx

    step = STEP
    with ctx.workprec(PRECISION):
        while candidate < tally.most:
            exponents = tally.exponents(candidate)
            lines = np.flatnonzero(exponents > exponents.max() - 45)
            total = sum((e.exp() for e in tally.exponents_ball(candidate, lines)), arb(0))
            if total >= arb(c).exp():
                return candidate
            candidate = max(candidate * (1 + step), math.nextafter(candidate, math.inf))
            step *= 2
    return tally.most

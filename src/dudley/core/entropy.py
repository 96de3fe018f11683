"""Entropy: an upper bound on a log covering number, as a function of the resolution.

ε ↦ log N(ε) is non-increasing, ≥ 0, and 0 once ε reaches the radius. It is evaluated in log
space, log ε ↦ log log N (−∞ where log N = 0), because deep networks leave the floats on both
sides. Covers that depend on the sample take the number of examples n as well; a bound for
"uniform" scope never uses them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dudley.core.constraint import radius_of
from dudley.core.errors import InputError
from dudley.core.rounding import exp_up


class Scope(Enum):
    """For which inputs one cover serves."""

    UNIFORM = "all inputs of the stated radius"
    POINTS = "the given points, supremum over point sets"
    ADAPTIVE = "points that depend on the centres themselves"


class Metric(Enum):
    """How a covered map's error is measured."""

    ROWS = "ℓ2 norm of each output row, largest over rows"
    SCALAR = "absolute value"
    LOGITS = "largest absolute logit"


def log_size(n: float | None) -> float | None:
    """log of the number of examples, ``None`` for ``None``."""
    if n is not None and not 1 <= n < math.inf:
        raise InputError("n", "a finite number ≥ 1", n)
    return None if n is None else math.log(n)


def resolutions(ε: ArrayLike) -> np.ndarray:
    """Resolutions as an array of finite numbers > 0; anything else is refused."""
    ε = np.asarray(ε, dtype=float)
    if not (np.isfinite(ε).all() and (ε > 0).all()):
        raise InputError("epsilon", "a finite number > 0", ε)
    return ε


@dataclass(frozen=True)
class InverseSquare:
    """log N(ε) = α + C/ε² for ε < ``reach``, α from there to ``radius``, and 0 beyond.

    With α = 0 it is the shape in which the papers state their covers. Dudley's integral of it is
    known exactly (``calculus.chain.inverse_square``).
    """

    α: float
    log_C: float
    log_reach: float
    log_radius: float


class Entropy(ABC):
    """Abstract: log N as a function of ε, in log space."""

    @property
    @abstractmethod
    def log_radius(self) -> float:
        """log of the resolution at which one element covers everything."""

    @property
    @abstractmethod
    def uses_points(self) -> bool:
        """Does the value depend on the number of examples?"""

    @abstractmethod
    def log_log(self, log_ε: ArrayLike, log_n: float | None = None) -> np.ndarray:
        """log log N at log ε, for n examples (``None``: only covers of uniform scope)."""

    @abstractmethod
    def proper(self) -> Entropy:
        """The same class, covered only by its own members: N_proper(ε) ≤ N_any(ε/2) at worst."""

    @property
    def is_single(self) -> bool:
        """Does the class have one member only? Then nothing is left to choose from the data."""
        return self.log_radius == -math.inf

    def inverse_square(self) -> InverseSquare | None:
        """This entropy as α + C/ε², if that is what it is."""
        return None

    def parts(self) -> tuple[Entropy, ...]:
        """Entropies whose minimum this one is, so that what ignores n is tabulated once."""
        return (self,)

    def on_fewest_points(self) -> Entropy:
        """An entropy that is nowhere larger, however many points an example has; or this one."""
        return self

    def unit(self) -> Entropy:
        """One entropy for all that differ by a factor on ε only, so that they share tables.

        At the same fraction of its radius it is at least this one (and equal but for rounding).
        """
        return self

    def __call__(self, ε: ArrayLike, n: float | None = None) -> Any:
        """log N(ε); infinite where the value leaves the floats.

        >>> PowerLaw(4.0)(0.5)
        16.0...
        """
        ε = resolutions(ε)
        with np.errstate(over="ignore"):
            value = exp_up(self.log_log(np.log(ε), log_size(n)))
        return value if value.ndim else float(value)


@dataclass(frozen=True)
class PowerLaw(Entropy):
    """log N(ε) = C/ε²: the shape in which the papers state their covers.

    It is zero from ``radius`` on, and already where C/ε² < log 2: a cover of fewer than two
    elements has one.
    """

    C: float
    radius: float = math.inf
    is_proper: bool = True

    def __post_init__(self) -> None:
        radius_of("C", self.C)
        if not self.radius >= 0:
            raise InputError("radius", "a number ≥ 0", self.radius)

    @property
    def log_radius(self) -> float:
        reach = min(self.radius, math.sqrt(self.C / math.log(2)))
        return math.log(reach) if reach > 0 else -math.inf

    @property
    def uses_points(self) -> bool:
        return False

    def log_log(self, log_ε: ArrayLike, log_n: float | None = None) -> np.ndarray:
        log_ε = np.asarray(log_ε, dtype=float)
        if self.C == 0:
            return np.full(log_ε.shape, -math.inf)
        log_C = math.log(self.C)
        rounded = (abs(log_C) + 2 * np.abs(log_ε)) * 2.0**-50
        return np.where(log_ε >= self.log_radius, -math.inf, log_C - 2 * log_ε + rounded)

    def inverse_square(self) -> InverseSquare:
        log_C = math.log(self.C) if self.C > 0 else -math.inf
        return InverseSquare(0.0, log_C, self.log_radius, self.log_radius)

    def proper(self) -> Entropy:
        """N_proper(ε) ≤ N_any(ε/2): four times the constant, if the cover is not proper."""
        return self if self.is_proper else PowerLaw(4 * self.C, self.radius)

"""The ratio bound/ε at which a cover is asked for, from a log or from exact floats."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from dudley.core.rounding import ceil_power_ratio, exp_up, up

_SLACK = 1e-12  # differences of logs of floats are off by at most 3·709·2^-52


class Ratio(ABC):
    """bound/ε, as its logarithm and through the integer parts that covers need."""

    log: np.ndarray

    @abstractmethod
    def ceil(self, times: float = 1.0) -> np.ndarray:
        """⌈times · bound/ε⌉ or more (infinite where it leaves the floats)."""

    @abstractmethod
    def ceil_square(self, times: float = 1.0) -> np.ndarray:
        """⌈times · (bound/ε)²⌉ or more (infinite where it leaves the floats)."""

    @abstractmethod
    def at(self, where: np.ndarray) -> Ratio:
        """The ratios that a mask selects."""


@dataclass(frozen=True, eq=False)
class LogRatio(Ratio):
    """From log(bound/ε), known to within 1e-12: integer parts are certified from above."""

    log: np.ndarray

    def ceil(self, times: float = 1.0) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.maximum(np.ceil(up(times * exp_up(self.log + _SLACK))), 1.0)

    def ceil_square(self, times: float = 1.0) -> np.ndarray:
        with np.errstate(over="ignore"):
            return np.maximum(np.ceil(up(times * exp_up(2 * (self.log + _SLACK)))), 1.0)

    def at(self, where: np.ndarray) -> LogRatio:
        return LogRatio(self.log[where])


@dataclass(frozen=True, eq=False)
class ExactRatio(Ratio):
    """From the floats themselves: integer parts are exact up to 2^53."""

    factors: tuple[float, ...]
    ε: np.ndarray
    log: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        log = sum(math.log(f) for f in self.factors) - np.log(self.ε)
        object.__setattr__(self, "log", log)

    def ceil(self, times: float = 1.0) -> np.ndarray:
        return np.asarray(ceil_power_ratio(self.factors, self.ε, 1, times))

    def ceil_square(self, times: float = 1.0) -> np.ndarray:
        return np.asarray(ceil_power_ratio(self.factors, self.ε, 2, times))

    def at(self, where: np.ndarray) -> ExactRatio:
        return ExactRatio(self.factors, np.asarray(self.ε)[where])

"""Alarms: bets against "the error is at most a", paid by the outcomes as they come.

**Setting.** X_1, X_2, … in [0, 1] are the losses of a stream (1 is an error), in the order in which
they come, and R_t = E[X_t | X_1, …, X_{t−1} and whatever else was known before] is the conditional
error. Nothing is assumed of R_t: the world may drift, and the model may be changed on the way.

**One rule for all alarms.** A bet θ ∈ (0, 1) against the level a multiplies its stake by

    f_θ(x) = (1 − θ(1 − x)) / (1 − θ(1 − a)),      E[f_θ(X_t) | the past] ≤ 1 where R_t ≤ a.

An alarm is a fixed mixture of such bets, with stakes that begin at 1 in sum. It comes where the
mixture is worth 1/δ. While what it would say is false, the mixture is at most a non-negative
supermartingale that begins at 1. So by Ville's inequality it says something false, at whatever
time, with probability at most δ. The two kinds differ in what they prove, and neither is the other:

    mean    bets that begin at the first outcome: the *mean* of R_1, …, R_t exceeds a
    ever    bets that begin at any outcome: *some* R_s with s ≤ t exceeds a

``ever`` reacts to a change long after the start, and says nothing about the mean.

**Rounding.** Outcomes are taken in blocks of 64. The float of 1 − θ(1 − x) is within 2^{−51.4} of
it, and it is at least 1 − θ ≥ 2^{−10}; so a factor is within 2^{−40} of itself, and a product of at
most 64 of them within 2^{−33.9}, relative to itself. What is kept of a block is lowered by 2^{−31}
of itself, which covers twice that and the few sums and logarithms that remain. Products of a block
lie in [2^{−640}, 2^{640}], so that none overflows.

References: Ville 1939; Waudby-Smith and Ramdas, "Estimating means of bounded random variables by
betting", JRSS B 86 (2024), for bets on a constant mean; Shin, Ramdas and Rinaldo, "E-detectors",
New England Journal of Statistics in Data Science 2 (2024), for bets that begin at every time.

>>> alarms = {name: ALARMS[name](0.02, 20.0) for name in ALARMS}
>>> stream = np.concatenate([np.zeros(1000), np.tile([0.0, 1.0, 0.0, 0.0, 0.0], 40)])
>>> {name: alarm.add(stream) for name, alarm in sorted(alarms.items())}
{'ever': 1057, 'mean': None}
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from dudley.certificates.methods.prequential.form import expect_losses
from dudley.certificates.methods.prequential.grid import BETS
from dudley.core.errors import InputError
from dudley.core.registry import Registry

ALARMS: Registry[type[StreamAlarm]] = Registry("alarm", "dudley.certificates.stream.alarms.{name}")
BLOCK = 64  # outcomes of a block
OFF = 1 - 2.0**-31


class StreamAlarm(ABC):
    """Abstract: what the bets are worth after ``n`` outcomes, from below.

    ``level`` is a, ``threshold`` is 1/δ. ``at`` is the outcome at which the alarm came, counted
    from 1; from then on nothing is counted any more.
    """

    name: ClassVar[str]
    says: ClassVar[str]  # what is proved, with {level} and {at}

    def __init__(self, level: float, threshold: float) -> None:
        if not 0 < level < 1:
            raise InputError("level of the alarm", "a number in (0, 1)", level)
        self.level, self.threshold = level, threshold
        self.n, self.at = 0, None
        self.worth = np.ones(len(BETS))
        self._least = 1 - BETS * (1 - level)

    @abstractmethod
    def block(self, factors: np.ndarray) -> np.ndarray:
        """Take in at most 64 outcomes (bets × outcomes); the mixture after each, from below."""

    def add(self, losses: np.ndarray) -> int | None:
        """Take in more outcomes; at which of all the alarm came, if it did."""
        x = expect_losses(losses)
        for first in range(0, len(x), BLOCK):
            if self.at is not None:
                break
            part = x[first : first + BLOCK]
            factors = (1 - np.multiply.outer(BETS, 1 - part)) / self._least[:, None]
            over = np.flatnonzero(self.block(factors) >= self.threshold)
            if len(over):
                self.at = self.n + int(over[0]) + 1
            self.n += len(part)
        return self.at

    def statement(self) -> str:
        """What is proved at the alarm, in words."""
        return self.says.format(level=self.level, at=f"{self.at:,}")

"""What published bounds are evaluated against: training margins, guessing, the confidence.

The ramp loss at margin γ is 1 at margin ≤ 0 and 0 at margin ≥ γ. γ makes the number of examples
small that a bound ∝ 1/(γ√n) needs to get below guessing, b: it maximises γ·(b − mean ramp).

>>> training = TrainingMargins(np.array([0.5] * 99 + [-0.1]), 0.05, 0.5)
>>> round(training.γ[0], 3), round(training.ramp(0.5), 3), training.separating_margin is None
(0.5, 0.01, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.calculus.union import Grid
from dudley.core.errors import InputError

MARGINS = Grid(2.0**0.125)
RANGE = 64.0  # margins down to the largest one over this are tried


@dataclass(frozen=True)
class TrainingMargins:
    """The training margins, what they are to be compared with, and the confidence."""

    margins: np.ndarray
    delta: float
    guess: float

    @property
    def n(self) -> int:
        return len(self.margins)

    @cached_property
    def γ(self) -> tuple[float, float]:
        """The margin, and its price in nats."""
        most = float(self.margins.max())
        if most <= 0:
            raise InputError("margins", "an example that is classified rightly", "none")
        steps = range(1 + int(8 * math.log2(RANGE)))
        tried = [MARGINS.round_down(most * 2 ** (-i / 8)) for i in steps]
        return max(tried, key=lambda pair: pair[0] * (self.guess - self.ramp(pair[0])))

    def ramp(self, γ: float) -> float:
        """The mean of the ramp loss on the training set."""
        return float(np.clip(1 - self.margins / γ, 0, 1).mean())

    @cached_property
    def separating_margin(self) -> float | None:
        """The largest margin of the grid at which the training ramp is 0."""
        least = float(self.margins.min())
        return MARGINS.round_down(least)[0] if least > 0 else None

"""What every part of a certificate of outcomes asks: losses, who counts, and at which confidence.

δ is split evenly over the parts that were declared (the error itself, its lower end, slices, tests
of slices, the abstention and its coverage, a comparison), so that all of them hold together with
probability 1 − δ. A price that was paid for a choice is paid in every part.

>>> question = LossQuestion(np.array([0.0, 1.0, 0.0, 0.0] * 50), True, math.log(1 / 0.05))
>>> round(question.upper(), 3), question.count(), round(question.upper(np.arange(200) < 40), 3)
(0.305, 200, 0.387)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dudley.certificates.outcomes.mean import mean_upper
from dudley.certificates.outcomes.units import Units
from dudley.core.rounding import up


@dataclass(frozen=True, eq=False)
class LossQuestion:
    """Losses of n rows, their units if rows depend on each other, and c = ln(1/δ′) of a part."""

    losses: np.ndarray
    errors: bool
    c: float
    units: Units | None = None

    @property
    def binary(self) -> bool:
        """Are the draws errors? Means of units are none."""
        return self.errors and (self.units is None or self.units.way == "first")

    def draws(self, rows: np.ndarray | None = None) -> np.ndarray:
        """The independent losses among these rows (a mask, or their numbers), or all."""
        losses = self.losses if rows is None else self.losses[rows]
        return losses if self.units is None else self.units.draws(losses, rows)

    def count(self, rows: np.ndarray | None = None) -> int:
        """How many independent draws there are among these rows."""
        return len(self.draws(rows))

    def mean(self, rows: np.ndarray | None = None) -> float:
        """The mean of the draws; 0 without any."""
        z = self.draws(rows)
        return math.fsum(z.tolist()) / len(z) if len(z) else 0.0

    def upper(self, rows: np.ndarray | None = None, nats: float = 0.0) -> float:
        """The upper bound for these rows, at so many nats more."""
        return mean_upper(self.draws(rows), float(up(self.c + nats)), self.binary)

    def lower(self, rows: np.ndarray | None = None, nats: float = 0.0) -> float:
        """The lower bound for these rows: 1 less the upper bound of what the losses lack to 1."""
        rest = replace(self, losses=np.minimum(1.0, up(1 - self.losses)))
        return max(0.0, math.nextafter(1 - rest.upper(rows, nats), 0.0))


def share_nats(count: float) -> float:
    """What a share of one in so many costs, rounded up."""
    return float(up(math.log(count)))

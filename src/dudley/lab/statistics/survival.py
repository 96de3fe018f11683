"""Kaplan and Meier's curve of what has not happened yet, with intervals; censored times allowed.

    S(t) = ∏_{t_i ≤ t} (1 − d_i / n_i),   d_i events at t_i among n_i still watched

As long as nothing was censored, S is a plain proportion, and its interval Clopper and Pearson's.
From the first censored time on, intervals are Greenwood's on the scale of log(−log S), which stay
inside (0, 1) (Kalbfleisch and Prentice, 2002, section 1.4), and where S is 0, Clopper and Pearson's
of none.

>>> curve = kaplan_meier([2, 3, 3, 5, 9], [True, True, True, True, False])
>>> curve.times.tolist(), curve.alive.round(2).tolist()
([2.0, 3.0, 5.0], [0.8, 0.4, 0.2])
>>> curve.median, round(curve.at(4.0)[0], 2)
(3.0, 0.4)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from dudley.core.errors import InputError
from dudley.lab.statistics.proportions import clopper_pearson


@dataclass(frozen=True)
class Survival:
    """S just after each time at which something happened, with its interval."""

    times: np.ndarray
    alive: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    start: tuple[float, float]  # the interval before the first event

    def at(self, time: float) -> tuple[float, float, float]:
        """S(time), lowest, highest."""
        i = int(np.searchsorted(self.times, time, side="right")) - 1
        if i < 0:
            return 1.0, *self.start
        return float(self.alive[i]), float(self.lowest[i]), float(self.highest[i])

    @property
    def median(self) -> float:
        """The first time with S ≤ ½; infinite where there is none."""
        return self._first(self.alive)

    @property
    def median_interval(self) -> tuple[float, float]:
        """Times at which ½ leaves the interval of S (Brookmeyer and Crowley, 1982)."""
        return self._first(self.lowest), self._first(self.highest)

    def _first(self, curve: np.ndarray) -> float:
        below = np.flatnonzero(curve <= 0.5 + 1e-12)
        return float(self.times[below[0]]) if len(below) else float("inf")


def kaplan_meier(times: Any, happened: Any, level: float = 0.95) -> Survival:
    """``times`` of the event, or of the end of watching where ``happened`` is false."""
    t, event = np.asarray(times, float), np.asarray(happened, bool)
    if t.shape != event.shape or t.ndim != 1 or not len(t) or not np.isfinite(t).all():
        raise InputError("times and events", "one finite time and one truth value each", t.shape)
    moments = np.unique(t[event])
    watched = np.array([(t >= moment).sum() for moment in moments], dtype=float)
    events = np.array([(event & (t == moment)).sum() for moment in moments], dtype=float)
    alive = np.cumprod(1 - events / watched) if len(moments) else np.zeros(0)
    z = norm.ppf(0.5 + level / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.cumsum(events / (watched * (watched - events)))
        spread = z * np.sqrt(variance) / np.log(alive)
        lowest, highest = alive ** np.exp(-spread), alive ** np.exp(spread)
    counted = moments <= t[~event].min(initial=np.inf)  # nothing was censored before
    left = np.where(counted, len(t) - np.cumsum(events), 0)
    plain, exact = counted | (alive <= 0), clopper_pearson(left, len(t), level)
    lowest, highest = (np.where(plain, e, g) for e, g in zip(exact, (lowest, highest), strict=True))
    return Survival(moments, alive, lowest, highest, clopper_pearson(len(t), len(t), level))

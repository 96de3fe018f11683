"""How long the rest takes, from the speed seen in this start, and how sure that is.

Work is counted in units proportional to time, so that batches of different sizes compare. Speed is
work done per second of a busy worker: work that earlier starts did is no evidence, and work that
is done again after a loss counts as time spent and as work left, never as negative speed. The
later half of what was seen is cut into four parts; the fastest and the slowest part give the range
for the rest, which is

    max(work left / workers, work left of the longest batch) / speed.

Until enough was seen there is no estimate. A standstill lowers the slowest speed as it lasts.

>>> estimate = Estimate(workers=1)
>>> for second in range(12):
...     estimate.observe(now=float(second), done=5.0 * second, busy=1)
>>> estimate.remaining([100.0, 45.0])
(29.0, 29.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

MOVES = 6  # how often work must have moved before there is an estimate
PARTS = 4
MEMORY = 256  # moves remembered at full detail


class Estimate:
    """Observations of one start."""

    def __init__(self, workers: int):
        self.workers = workers
        self._last: tuple[float, float, int] | None = None  # time, done, busy
        self._spent = self._moved = 0.0  # busy seconds, work forward
        self._history = [(0.0, 0.0)]  # (spent, moved) at each move
        self._moves = 0

    def observe(self, now: float, done: float, busy: int) -> None:
        """At time ``now`` ``done`` units stand in all; ``busy`` workers are at it from now on."""
        if self._last is not None:
            time, before, at_work = self._last
            self._spent += max(0.0, now - time) * at_work
            if done > before:
                self._moved += done - before
                self._moves += 1
                self._history.append((self._spent, self._moved))
                if len(self._history) > MEMORY:
                    self._history = self._history[::2] + self._history[-1:]
        self._last = now, done, busy

    def speeds(self) -> tuple[float, float] | None:
        """Slowest and fastest, in work per second of a worker; None where too little was seen."""
        spent, moved = np.array(self._history).T
        if self._moves < MOVES or spent[-1] <= 0:
            return None
        marks = np.linspace(spent[-1] / 2, spent[-1], PARTS + 1)
        parts = np.diff(np.interp(marks, spent, moved)) / np.diff(marks)
        still = self._spent - spent[-1]
        typical = (moved[-1] - np.interp(marks[0], spent, moved)) / max(
            1, int((spent > marks[0]).sum())
        )
        slowest = float(parts.min())
        return (min(slowest, typical / still) if still > 0 else slowest), float(parts.max())

    def remaining(self, left: Sequence[float]) -> tuple[float, float] | None:
        """Seconds until the batches with so much work left are done: shortest and longest."""
        if not any(left):
            return 0.0, 0.0
        speeds = self.speeds()
        if speeds is None or speeds[1] <= 0:
            return None
        load = max(sum(left) / self.workers, max(left))
        return load / speeds[1], load / speeds[0] if speeds[0] > 0 else float("inf")


def duration(seconds: float) -> str:
    """In words.

    >>> [duration(s) for s in (4.2, 75, 3700, 200_000)]
    ['4 s', '1 min 15 s', '1 h 01 min', '2 d 07 h']
    """
    whole = round(seconds)
    units = [("d", 86400), ("h", 3600), ("min", 60), ("s", 1)]
    for (name, size), (below, part) in pairwise(units):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name} {rest:02d} {below}"
    return f"{max(whole, 1)} s"

"""A sequential design: trials are spent where the success curve crosses ½.

A grid has columns (one for each T) of cells in increasing m, N trials a cell. Rounds are proposed
over all columns at once, so that an ensemble engine has much to train side by side:

1. a few trials in every cell;
2. in every later round, an equal part of what is left of the budget, in the cells whose side of ½
   is undecided (those from the lowest to below the highest j that `crossing` holds), so that these
   have as equal numbers of trials as can be, and never more than N.

A column ends when log(m_highest / m_lowest) is at most the tolerance, or its undecided cells are
full, or its budget, a share of the full grid's trials, is spent. All this is set beforehand and
nothing is drawn at random. The interval is valid after every round (theorem in `crossing`).

In a cell trials are taken in the order of their numbers, 0, 1, 2, …: those of a sequential run are
some of the full grid's.

>>> import numpy as np
>>> m = np.arange(50, 201, 10)
>>> p = 1 / (1 + (100 / m) ** 8)                # crosses ½ at m = 100, first above: 110
>>> outcomes = np.random.default_rng(0).random((1, 16, 50)) < p[:, None]
>>> replayed = replay(m, outcomes)
>>> replayed.critical, replayed.interval, replayed.full_interval
(array([110.]), (array([90.]), array([120.])), (array([110.]), array([110.])))
>>> replayed.share, len(replayed.rounds)
(0.4, 6)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dudley.core.errors import InputError
from dudley.lab.statistics.completion import complete
from dudley.lab.statistics.crossing import crossing, running

Ask = Callable[[np.ndarray, np.ndarray], Any]


@dataclass(frozen=True)
class Design:
    """All that is chosen beforehand. ``share`` of the full grid's trials is the budget of a column;
    ``scan`` trials a cell come first (fewer where the budget is small); ``tolerance`` is of log m.
    """

    share: float = 0.4
    scan: int = 4
    rounds: int = 6
    tolerance: float = 0.2
    level: float = 0.95

    def __post_init__(self):
        for what, value, good in (
            ("share of the full grid", self.share, 0 < self.share <= 1),
            ("level of an interval", self.level, 0 < self.level < 1),
        ):
            if not good:
                raise InputError(what, "a number between 0 and 1", value)
        if self.scan < 1 or self.rounds < 1 or not self.tolerance >= 0:
            settings = (self.scan, self.rounds, self.tolerance)
            raise InputError("design", "scan ≥ 1, rounds ≥ 1, tolerance ≥ 0", settings)

    def budget(self, cells: int, trials: int) -> int:
        """Trials of a column; at least one a cell."""
        budget = int(self.share * cells * trials + 1e-9)
        if budget < cells:
            fix = "raise the share or the trials a cell"
            raise InputError(
                "budget of a column", f"a trial for each of {cells} cells", budget, fix
            )
        return budget


@dataclass(frozen=True, eq=False)
class DesignOutcome:
    """What a design found: by column and cell, successes ``k`` among the first ``n`` of N trials.

    ``rounds`` holds n after each round. A critical m that the grid does not reach is infinite.
    """

    m: np.ndarray
    trials: int
    k: np.ndarray
    n: np.ndarray
    rounds: tuple[np.ndarray, ...]
    design: Design

    @cached_property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The curve's critical m: lowest and highest; proved, see `crossing`."""
        lowest, highest = crossing(self.k, self.n, self.design.level)
        return self.size(lowest), self.size(highest)

    @cached_property
    def _completed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return complete(self.k, self.n, self.trials, self.design.level)

    @property
    def cell(self) -> np.ndarray:
        """The full grid's critical cell, as `completion` estimates it; past the last, if none."""
        return self._completed[0]

    @property
    def critical(self) -> np.ndarray:
        """Its m."""
        return self.size(self.cell)

    @property
    def full_interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The full grid's critical m: lowest and highest, from these trials alone."""
        return self.size(self._completed[1]), self.size(self._completed[2])

    @property
    def share(self) -> float:
        """Of the full grid's trials."""
        return float(self.n.sum() / (self.n.size * self.trials))

    def size(self, cell: Any) -> np.ndarray:
        """The m of a cell; past the last, infinity."""
        return np.append(self.m.astype(float), np.inf)[cell]


def follow(
    m: Any, columns: int, trials: int, ask: Ask, design: Design | None = None
) -> DesignOutcome:
    """Run a design over columns of cells with these m and so many trials in the full grid.

    ``ask(first, last)``: the successes among trials first ≤ number < last of every cell, all
    (columns, cells).
    """
    design, m = design or Design(), np.asarray(m)
    if m.ndim != 1 or not len(m) or np.any(np.diff(m) <= 0) or not m[0] > 0:
        raise InputError("m of a column", "positive numbers that increase", m.tolist())
    k = n = np.zeros((columns, len(m)), dtype=int)
    rounds: list[np.ndarray] = []
    while len(rounds) < design.rounds:
        wanted = propose(m, trials, k, n, len(rounds), design)
        if np.array_equal(wanted, n):
            break
        k, n = k + np.asarray(ask(n, wanted), dtype=int), wanted
        rounds.append(n)
    return DesignOutcome(m, trials, k, n, tuple(rounds), design)


def propose(
    m: np.ndarray, trials: int, k: np.ndarray, n: np.ndarray, done: int, design: Design
) -> np.ndarray:
    """How many trials every cell should have after the next round, (columns, cells)."""
    cells = len(m)
    budget = design.budget(cells, trials)
    if done == 0:
        return np.full_like(n, min(design.scan, budget // cells, trials))
    lowest, highest = crossing(k, n, design.level)
    size = np.append(np.log(m), np.inf)
    wide = (lowest < highest) & ~(size[highest] - size[np.minimum(lowest, cells - 1)]
                                  <= design.tolerance)  # fmt: skip
    cell = np.arange(cells)
    undecided = (lowest[:, None] <= cell) & (cell < highest[:, None]) & wide[:, None]
    quota = -(-(budget - n.sum(-1)) // (design.rounds - done))
    return filled(n, undecided, trials, quota)


def filled(n: np.ndarray, where: np.ndarray, most: int, quota: np.ndarray) -> np.ndarray:
    """The numbers after ``quota`` more trials a row, each where there are fewest, left ones first.

    >>> filled(np.array([[4, 4, 9, 4]]), np.array([[False, True, True, True]]), 50, np.array([8]))
    array([[4, 8, 9, 8]])
    """
    levels = np.arange(most + 1)
    extra = (where[..., None] * np.maximum(levels - n[..., None], 0)).sum(-2)  # (rows, levels)
    level = (extra <= quota[:, None]).sum(-1, keepdims=True) - 1
    even = np.where(where, np.maximum(n, level), n)
    over = quota[:, None] - np.take_along_axis(extra, level, -1)
    able = where & (even == level) & (level < most)
    return even + (able & (able.cumsum(-1) <= over))


def replay(m: Any, outcomes: Any, design: Design | None = None) -> DesignOutcome:
    """A design on trials whose outcomes are known, (columns, cells, trials in order)."""
    known = np.asarray(outcomes, dtype=int)
    sums = running(known)

    def ask(first: np.ndarray, last: np.ndarray) -> np.ndarray:
        ends = [np.take_along_axis(sums, n[..., None], -1)[..., 0] for n in (first, last)]
        return ends[1] - ends[0]

    return follow(m, len(known), known.shape[-1], ask, design)

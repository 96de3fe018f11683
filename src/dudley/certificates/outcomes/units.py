"""Units: several rows of one document, user or patient count as one draw.

**Setting.** Units are independent draws; rows of a unit may depend on each other in any way. Then
n rows are no n draws, and an interval that takes them for such fails (`test_validity_outcomes`).
What is bounded is

    μ = the mean, over units, of the mean loss of a unit's rows.

**mean**: each unit's mean loss, a number in [0, 1], is an independent draw with mean μ: fixed bets.
**first**: of each unit one row is taken at random, by a declared seed. Given the unit, its loss has
the unit's mean loss as its mean, so it is a draw with mean μ, and an error stays an error: Clopper
and Pearson's bound holds. The probability is that of the units and of the seed, which has to be
drawn at random: of one fixed seed nothing is said, so that there is none by default.

Both are statements about units, not about rows: a unit of a thousand rows weighs as much as a unit
of one. Where only some rows count (those of a slice, those that are answered), units with such rows
are draws from the units that have them, and their other rows are left out.

The row that **first** takes depends on the rows of its unit as a bag, so a file that orders rows
cannot choose it.

>>> unit, losses = np.array([7, 7, 7, 9]), np.array([1.0, 0.0, 0.0, 1.0])
>>> unit_means(losses, unit).round(3)
array([0.333, 1.   ])
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dudley.certificates import order
from dudley.core.errors import InputError

WAYS = ("mean", "first")


@dataclass(frozen=True, eq=False)
class Units:
    """The unit of each row, numbered in the order of their ids, and how a unit counts."""

    codes: np.ndarray
    way: str = "mean"
    seed: int = 0

    def __post_init__(self):
        if self.way not in WAYS:
            raise InputError("way of units", " or ".join(WAYS), self.way)

    @staticmethod
    def of(ids: np.ndarray, way: str = "mean", seed: int = 0) -> Units:
        """Units by their ids."""
        return Units(np.unique(ids, return_inverse=True)[1].ravel(), way, seed)

    def draws(self, losses: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """One loss for each unit that has some of these rows (all of them), of their losses."""
        codes = self.codes if rows is None else self.codes[rows]
        if self.way == "mean":
            return unit_means(losses, codes)
        return unit_first(losses, codes, self.seed)


def unit_means(losses: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """The mean loss of every unit that is there, from above, in [0, 1]."""
    _, codes, counts = np.unique(unit, return_inverse=True, return_counts=True)
    means = np.bincount(codes.ravel(), losses) / counts
    return np.minimum(1.0, means * (1 + (counts + 2) * 2.0**-52))


def unit_first(losses: np.ndarray, unit: np.ndarray, seed: int) -> np.ndarray:
    """The loss of a row of every unit, each row being as likely as any other of its unit.

    The rows of a unit are sorted by their losses, and the seed says which of them is taken.
    """
    sort = np.lexsort((losses, unit))
    _, starts, counts = np.unique(unit[sort], return_index=True, return_counts=True)
    numbers = order.draw(f"rows of units {seed}", len(counts), 1 << 53)
    return losses[sort][starts + numbers % counts]

"""Which of two models generalises worse, and does a measure say so? Signs of pairs, cell by cell.

Models that share every setting are a cell; they differ in their seed alone. A pair of models is
*agreed on* if the measure is larger where the gap is larger. All rank statistics are averages of
+1 (agreed), −1 (the other way round) and 0 (the measure is the same) over some pairs of models
whose gaps differ, and depend on sums over pairs of cells alone, (C, C). So cells can be drawn
again, whole, with weights w (Efron and Tibshirani, 1993, section 8.4):

    τ(w) = Σ_{c≠d} w_c w_d S_cd / Σ_{c≠d} w_c w_d N_cd.

>>> import numpy as np
>>> settings = CellSettings.of({"T": np.array([5, 5, 9, 9]), "m": np.array([1, 2, 1, 2])})
>>> settings.cells, settings.neighbours("T")  # (5, 1) and (9, 1), (5, 2) and (9, 2)
(4, (array([0, 1]), array([2, 3])))
>>> signs = PairSigns.of(np.array([0.4, 0.2, 0.3, 0.1]), np.array([8.0, 4.0, 2.0, 1.0]), settings)
>>> between = ~np.eye(4, dtype=bool)
>>> round(signs.mean(between), 3)  # of six pairs one, the second and the third, is not agreed on
0.667
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dudley.core.errors import InputError


@dataclass(frozen=True, eq=False)
class CellSettings:
    """The cell of every model, and the values of the settings of every cell, as small numbers."""

    axes: tuple[str, ...]
    cell: np.ndarray  # (models,)
    codes: np.ndarray  # (cells, axes)
    values: Mapping[str, list[Any]]  # of each axis, in order

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray]) -> CellSettings:
        """From one column for each axis."""
        coded = {name: np.unique(np.asarray(c), return_inverse=True) for name, c in columns.items()}
        if not coded:
            raise InputError("settings of models", "a column for each axis", "none")
        rows = np.stack([codes.reshape(-1) for _, codes in coded.values()], 1)
        codes, cell = np.unique(rows, axis=0, return_inverse=True)
        values = {name: list(unique.tolist()) for name, (unique, _) in coded.items()}
        return cls(tuple(columns), cell.reshape(-1), codes, values)

    @property
    def cells(self) -> int:
        return len(self.codes)

    @cached_property
    def _differ(self) -> np.ndarray:
        """Do two cells differ in an axis? (axes, C, C)."""
        return np.stack([c[:, None] != c[None] for c in self.codes.T])

    def neighbours(self, axis: str) -> tuple[np.ndarray, np.ndarray]:
        """All pairs of cells, each once, that differ in this axis and in no other."""
        differ = self._differ
        alone = differ[self.axes.index(axis)] & (differ.sum(0) == 1)
        first, second = np.nonzero(np.triu(alone))
        return first, second

    def environments(self) -> dict[tuple[str, Any, Any], tuple[np.ndarray, np.ndarray]]:
        """The same by the two values of the axis."""
        by_values = {}
        for i, axis in enumerate(self.axes):
            first, second = self.neighbours(axis)
            both = np.sort(np.stack([self.codes[first, i], self.codes[second, i]], 1), 1)
            for a, b in np.unique(both, axis=0):
                of_both = (both == (a, b)).all(1)
                key = (axis, self.values[axis][a], self.values[axis][b])
                by_values[key] = (first[of_both], second[of_both])
        return by_values

    def rows(self, where: np.ndarray) -> CellSettings:
        """Some of the models; cells keep their numbers, so that all statistics share draws."""
        return CellSettings(self.axes, self.cell[where], self.codes, self.values)


@dataclass(frozen=True, eq=False)
class PairSigns:
    """Sums over the pairs of models in each pair of cells; both are symmetric, (C, C).

    ``agree``: pairs that are agreed on, less those that are not; ``count``: pairs whose gaps
    differ.
    """

    agree: np.ndarray
    count: np.ndarray

    @classmethod
    def of(
        cls, gap: np.ndarray, measure: np.ndarray, settings: CellSettings, noise: Any = None
    ) -> PairSigns:
        """``noise``, a standard error of each gap: pairs closer than two of them do not count."""
        order = np.argsort(settings.cell, kind="stable")
        cell, x = settings.cell[order], np.asarray(measure, float)[order]
        y = np.asarray(gap, float)[order]
        difference = y[:, None] - y[None]
        signs = np.sign(difference).astype(np.int8)
        if noise is not None:
            error = np.asarray(noise, float)[order]
            least = 2 * np.sqrt(error[:, None] ** 2 + error[None] ** 2)
            signs[np.abs(difference) <= least] = 0
        with np.errstate(invalid="ignore"):  # infinite measures are equal to each other
            said = (x[:, None] > x[None]).astype(np.int8) - (x[:, None] < x[None])
        return cls(
            by_cells(signs * said, cell, settings.cells),
            by_cells(np.abs(signs), cell, settings.cells),
        )

    def mean(self, where: np.ndarray) -> float:
        """The statistic over the pairs of cells (C, C) at which ``where`` is true."""
        whole = float(self.count[where].sum())
        return float(self.agree[where].sum()) / whole if whole else np.nan

    def between(self, weights: np.ndarray) -> np.ndarray:
        """τ over pairs from different cells, for each row of weights (draws, C)."""
        parts = []
        for sums in (self.agree, self.count):
            apart = sums - np.diag(np.diag(sums))
            parts.append(((weights @ apart) * weights).sum(1))
        return _quotient(*parts)

    def within(self, weights: np.ndarray) -> np.ndarray:
        """τ over pairs of one cell: models that differ in their seed alone."""
        return _quotient(weights @ np.diag(self.agree), weights @ np.diag(self.count))

    def along(self, pairs: tuple[np.ndarray, np.ndarray], weights: np.ndarray) -> np.ndarray:
        """The statistic over some pairs of cells, by their numbers."""
        first, second = pairs
        both = weights[:, first] * weights[:, second]
        return _quotient(both @ self.agree[pairs], both @ self.count[pairs])


def by_cells(values: np.ndarray, cell: np.ndarray, cells: int) -> np.ndarray:
    """Sums of (n, n) over rows and columns of one cell, (C, C); rows are in the cells' order."""
    present, starts = np.unique(cell, return_index=True)
    sums = np.add.reduceat(values, starts, 0, dtype=np.int32)
    sums = np.add.reduceat(sums, starts, 1)
    whole = np.zeros((cells, cells))
    whole[np.ix_(present, present)] = sums
    return whole


def draws_of(cells: int, draws: int, seed: int) -> np.ndarray:
    """How often each cell is drawn, (draws + 1, C); first all once: the data as they are."""
    drawn = np.random.default_rng(seed).multinomial(cells, np.full(cells, 1 / cells), draws)
    return np.concatenate([np.ones((1, cells)), drawn.astype(float)])


def _quotient(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)

"""Does a sequential design find what the full grid finds? Their paired difference.

The difference of a column is the estimated critical cell less the full grid's, in steps of the
grid. Both come from the same trials, the sequential ones being some of the full grid's. So a draw
takes the N trials of every cell again, with replacement, and repeats everything on them: the full
grid's critical cell, and the whole design with its rounds. The percentiles of the differences of
the draws are the interval, of each column and of the mean over columns.

>>> import numpy as np
>>> m = np.arange(50, 201, 10)
>>> half = np.array([80.0, 120.0, 180.0])
>>> p = 1 / (1 + (half[:, None] / m) ** 8)
>>> outcomes = np.random.default_rng(0).random((3, 16, 50)) < p[..., None]
>>> pairs = agreement(m, outcomes, draws=100, seed=1)
>>> pairs.steps, pairs.mean.lowest <= 0 <= pairs.mean.highest
(array([0, 0, 1]), True)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.core.errors import InputError
from dudley.lab.statistics.bootstrap import Scatter
from dudley.lab.statistics.critical import first_crossing
from dudley.lab.statistics.sequential import Design, DesignOutcome, replay

AT_ONCE = 50  # draws


@dataclass(frozen=True, eq=False)
class Agreement:
    """The design's result, the full grid's critical cells, and the differences in steps."""

    outcome: DesignOutcome
    full: np.ndarray
    columns: tuple[Scatter, ...]
    mean: Scatter

    @property
    def steps(self) -> np.ndarray:
        """Sequential less full, by column."""
        return self.outcome.cell - self.full


def agreement(
    m: Any, outcomes: Any, draws: int, seed: int, design: Design | None = None
) -> Agreement:
    """From the outcomes of a full grid, (columns, cells, trials in order)."""
    known = np.asarray(outcomes, dtype=bool)
    if known.ndim != 3 or draws < 2:
        expected = "an array (columns, cells, trials), and at least two draws"
        raise InputError("outcomes", expected, (known.shape, draws))
    design = design or Design()
    generator, rates = np.random.default_rng(seed), known.mean(-1, keepdims=True)
    parts = [AT_ONCE] * (draws // AT_ONCE) + [draws % AT_ONCE] * (draws % AT_ONCE > 0)
    differences = np.concatenate([
        _difference(m, generator.random((part, *known.shape)) < rates, design) for part in parts
    ])  # fmt: skip
    return Agreement(
        replay(m, known, design),
        full_cells(known),
        tuple(Scatter.of(own, design.level) for own in differences.T),
        Scatter.of(differences.mean(-1), design.level),
    )


def full_cells(outcomes: np.ndarray) -> np.ndarray:
    """The first cell with more than half successes; the number of cells where there is none."""
    cells = outcomes.shape[-2]
    first = first_crossing(np.arange(cells), outcomes.mean(-1))
    return np.minimum(first, cells).astype(int)


def _difference(m: Any, drawn: np.ndarray, design: Design) -> np.ndarray:
    """(draws, columns) of outcomes (draws, columns, cells, trials)."""
    columns = drawn.reshape(-1, *drawn.shape[2:])
    return (replay(m, columns, design).cell - full_cells(columns)).reshape(drawn.shape[:2])

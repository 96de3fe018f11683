"""The bootstrap: how a statistic would scatter if the trials were drawn again.

Rows are drawn with replacement, whole blocks of them where rows of one block are dependent, within
strata where the numbers are fixed by design. The interval is the percentiles'.

Efron and Tibshirani (1993), An introduction to the bootstrap, chapters 6 and 13.

>>> import numpy as np
>>> heights = np.random.default_rng(0).normal(10, 1, 400)
>>> interval = bootstrap(lambda rows: heights[rows].mean(), len(heights), draws=500, seed=1)
>>> round(interval.error, 2), interval.lowest < 10 < interval.highest      # error: 1/√400
(0.05, True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.core.errors import InputError


@dataclass(frozen=True)
class Scatter:
    """The statistic's standard error and interval; ``values`` are those of the draws."""

    error: float
    lowest: float
    highest: float
    values: np.ndarray

    @classmethod
    def of(cls, values: Sequence[float] | np.ndarray, level: float = 0.95) -> Scatter:
        """From the draws; an infinite value (no crossing) stays one in the interval."""
        drawn = np.asarray(values, dtype=float)
        tail = (1 - level) / 2
        lowest, highest = np.quantile(drawn, [tail, 1 - tail], method="inverted_cdf")
        finite = drawn[np.isfinite(drawn)]
        error = float(finite.std(ddof=1)) if len(finite) > 1 else np.nan
        return cls(error, float(lowest), float(highest), drawn)


def bootstrap(
    statistic: Callable[[np.ndarray], float],
    rows: int,
    draws: int,
    seed: int,
    level: float = 0.95,
    strata: Any = None,
    blocks: Any = None,
) -> Scatter:
    """Scatter of ``statistic(numbers of rows)``.

    ``strata``: a label of each row; as many are drawn of each as there are. ``blocks``: a label of
    each row; rows of one block are drawn together (blocks within strata).
    """
    if rows < 1 or draws < 2:
        raise InputError("bootstrap", "some rows and at least two draws", (rows, draws))
    generator = np.random.default_rng(seed)
    strata = np.zeros(rows, dtype=int) if strata is None else np.asarray(strata)
    blocks = np.arange(rows) if blocks is None else np.asarray(blocks)
    groups = []
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        groups.append([members[blocks[members] == block] for block in np.unique(blocks[members])])
    values = []
    for _ in range(draws):
        picked = [
            group[i] for group in groups for i in generator.integers(len(group), size=len(group))
        ]
        values.append(statistic(np.concatenate(picked)))
    return Scatter.of(values, level)


def resampled_counts(successes, trials, draws: int, seed: int) -> np.ndarray:
    """Numbers of successes in cells whose trials are drawn again, (draws, *cells)."""
    k, n = np.asarray(successes), np.asarray(trials)
    generator = np.random.default_rng(seed)
    return generator.binomial(n, k / n, size=(draws, *k.shape))

"""Over time: a bound that holds whatever the world, or the model, did while the rows came.

The other bounds are about rows that are drawn from one population. Where rows have times, more is
said with less assumed. Let R_t be the probability (for losses: the mean) of a loss on row t given
all rows before it. With probability at least 1 − δ′, at the end of every moment at once,

    the mean of R_t over the rows up to that moment  ≤  its bound on the curve.

Nothing is assumed of how R_t moves. Where nothing moves, all R_t are the risk.

**Proof.** That of `dudley.certificates.methods.prequential.forms.mixture`, for the rows in the
order of their times, and among those of one time in an order that does not depend on their losses.
A product of factors does not depend on their order, and the curve has no point inside a moment; so
which order this is need not be known. ∎  Points inside a moment, after rows that were sorted by
their losses, would say anything.

>>> import math
>>> losses = np.tile([0.0] * 19 + [1.0], 50)
>>> curve = running_bounds(losses, np.arange(1000), math.log(20))
>>> [(point.rows, round(point.mean, 3), round(point.upper, 3)) for point in curve[::8]]
[(16, 0.0, 0.248), (75, 0.04, 0.159), (327, 0.049, 0.1)]
>>> [point.rows for point in running_bounds(losses, np.arange(1000) // 400, math.log(20))]
[400, 800, 1000]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.certificates.methods.prequential.forms.mixture import MixtureTally

FIRST, GROWTH = 16, 1.2  # the curve has a point from so many rows on, and at so many times as many


@dataclass(frozen=True)
class RunningBound:
    """The end of a moment: the rows up to it, their mean loss, and the bound."""

    rows: int
    mean: float
    upper: float


def running_bounds(losses: np.ndarray, time: np.ndarray, c: float) -> tuple[RunningBound, ...]:
    """The curve at δ′ = e^{−c}; its last point is that of all rows."""
    order = np.lexsort((losses, time))
    ends = [*(np.flatnonzero(np.diff(time[order])) + 1).tolist(), len(order)]
    tally, total, curve = MixtureTally(), 0.0, []
    for end in ends:
        due = math.ceil(GROWTH * curve[-1].rows) if curve else FIRST
        if end < due and end < len(order):
            continue
        part = losses[order[tally.m : end]]
        tally.add(part)
        total += math.fsum(part.tolist())
        curve.append(RunningBound(end, total / end, tally.upper(c)))
    return tuple(curve)

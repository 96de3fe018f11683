"""Slices: an upper bound for every group of rows that was declared, all of them at once.

Claim. C columns of groups were declared; each of the S labels of a column is a slice. With
probability at least 1 − δ′ the risk of every slice is below its bound, taken at δ′/(C·S).

Proof. Given the labels of one column, S is a number, and the rows of a slice are independent draws
from the population of that slice. Each bound fails with probability at most δ′/(C·S) given the
labels, so one of the column with probability at most δ′/C (union bound), hence also without the
condition; and one of all columns with probability at most δ′. ∎  Where units have several rows, the
list of labels must be that of the population, since the labels that are seen may say something of
the units: this is declared.

So a slice may be named the worst after a look at all of them. Small slices have wide bounds, and
keep them: a slice of no errors among 20 rows is not shown as a slice without errors. Columns whose
labels were made from the outcomes (the model's errors clustered, say) are no groups.

>>> import math
>>> from dudley.certificates.outcomes.labels import LabelColumn
>>> losses = np.array([0.0] * 300 + [1.0] * 5 + [0.0] * 15)
>>> groups = {"site": LabelColumn.of(["A"] * 300 + ["B"] * 20)}
>>> bounds = slice_bounds(LossQuestion(losses, True, math.log(20)), groups)
>>> [(bound.label, bound.n, round(bound.upper, 4)) for bound in bounds]
[('A', 300, 0.0122), ('B', 20, 0.491)]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.certificates.outcomes.labels import LabelColumn
from dudley.certificates.outcomes.question import LossQuestion, share_nats
from dudley.core.errors import InputError

MOST = 4096  # slices of a certificate


@dataclass(frozen=True)
class SliceBound:
    """One slice: its independent draws, their mean loss, and the ends of its interval."""

    group: str
    label: str
    rows: int
    n: int
    mean: float
    upper: float
    lower: float | None = None

    @property
    def name(self) -> str:
        return f"{self.group} = {self.label}"


def slice_bounds(
    question: LossQuestion, groups: Mapping[str, LabelColumn], two_sided: bool = False
) -> tuple[SliceBound, ...]:
    """The bounds of all slices, in the order of the groups and of their labels.

    With ``two_sided`` both ends share δ′, so each is taken at δ′/(2·C·S).
    """
    bounds, ends = [], 2 if two_sided else 1
    for group, labels in slice_rows(groups).items():
        nats = share_nats(ends * len(groups) * len(labels))
        for label, rows in labels.items():
            n, mean, most = question.count(rows), question.mean(rows), question.upper(rows, nats)
            least = question.lower(rows, nats) if two_sided else None
            bounds.append(SliceBound(group, label, len(rows), n, mean, most, least))
    return tuple(bounds)


def slice_rows(groups: Mapping[str, LabelColumn]) -> dict[str, dict[str, np.ndarray]]:
    """The numbers of the rows of every slice that has some, by column and label."""
    total = sum(len(column) for column in groups.values())
    if total > MOST:
        raise InputError("slices", f"at most {MOST:,} labels in all", f"{total:,}")
    return {group: _rows_by_label(column) for group, column in groups.items()}


def _rows_by_label(column: LabelColumn) -> dict[str, np.ndarray]:
    parts = np.split(np.argsort(column.codes, kind="stable"), np.cumsum(column.counts)[:-1])
    return {label: rows for label, rows in zip(column.names, parts, strict=True) if len(rows)}


def worst_of(bounds: tuple[SliceBound, ...]) -> SliceBound:
    """The slice whose bound is the highest; of several the first."""
    return max(bounds, key=lambda bound: bound.upper)

"""The sample as the rule sees it: an initial share, and the rest with names and tags.

In the order of the declared seed the first ``initial`` examples are for ordinary training (see
`dudley.certificates.shares`). The rest are the N examples of the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.certificates.data import Dataset
from dudley.certificates.methods.hold_out.losses import cross_entropy
from dudley.certificates.methods.pick_to_learn.declared import PickDeclared
from dudley.certificates.methods.pick_to_learn.tags import TagTable
from dudley.certificates.predictor import Predictor, margins
from dudley.certificates.shares import in_order
from dudley.core.errors import InputError


@dataclass(frozen=True, eq=False)
class PickSample:
    """The examples in their order, and what was declared."""

    whole: Dataset
    declared: PickDeclared

    @staticmethod
    def of(data: Dataset, declared: PickDeclared) -> PickSample:
        """The sample of a data set; too small a one is refused."""
        whole = in_order(data, declared.initial, declared.seed)
        if declared.pool is not None and declared.pool < data.n:
            raise InputError("pool", f"at least the {data.n:,} examples drawn", declared.pool)
        return PickSample(whole, declared)

    @property
    def N(self) -> int:
        """How many examples the bound counts."""
        return self.whole.n - self.declared.initial

    @property
    def share(self) -> Dataset | None:
        """The examples for ordinary training."""
        initial = self.declared.initial
        return self.whole.part(slice(0, initial)) if initial else None

    @cached_property
    def X(self) -> np.ndarray:
        return self.whole.X[self.declared.initial :]

    @cached_property
    def y(self) -> np.ndarray:
        return self.whole.y[self.declared.initial :]

    @cached_property
    def table(self) -> TagTable:
        return TagTable.of(self.X, self.y, self.declared.seed)

    def rows_of(self, names: tuple[str, ...] | list[str]) -> np.ndarray:
        """The rows of some names; one that no example has, or that comes twice, is refused."""
        rows = [self.table.rows.get(name, -1) for name in names]
        if -1 in rows or len(set(rows)) < len(rows):
            got = "a name that no example has" if -1 in rows else "a name that comes twice"
            raise InputError("picks", "names of different examples outside the initial share", got)
        return np.array(rows, np.int64)

    def failing(self, model: Predictor, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of the rows fail, and their margins."""
        outputs = model.outputs(self.X[rows])
        margin = margins(outputs, self.y[rows])
        return slack(
            outputs, self.y[rows], margin, self.declared
        ) <= self.declared.tolerance, margin


def slack(
    outputs: np.ndarray, y: np.ndarray, margin: np.ndarray, declared: PickDeclared
) -> np.ndarray:
    """How far each example is from the event: its margin, or how far its loss is below the level.

    An example fails where this is at most the tolerance; −∞ where the outputs are undefined.
    """
    if declared.event == "wrong":
        return margin
    assert declared.level is not None
    return np.where(margin == -np.inf, -np.inf, declared.level - cross_entropy(outputs, y))

"""Does a measure know more of the gap than the settings do? Conditional mutual information.

For a pair of models let G be the sign of the difference of their gaps, M that of their measures,
and U_S the values of both in the settings S. A measure that merely repeats a setting has
I(G; M | U_S) = 0 where S has it. The statistic of Jiang et al. (2020), section 4.3, is

    K = min over |S| ≤ 2 of I(G; M | U_S)/H(G | U_S),

a share of what U_S leaves open, with frequencies of pairs from different cells for probabilities.
Finitely many pairs make it positive by chance: a random number shows by how much.

>>> import numpy as np
>>> axes = {"T": np.repeat([5, 9], 40), "trial": np.arange(80)}
>>> settings = CellSettings.of(axes)
>>> gap = np.random.default_rng(0).normal(size=80) + 3 * (axes["T"] == 9)
>>> knows, repeats = (Signs.of(gap, x, settings) for x in (gap, axes["T"]))
>>> share, known = knows.least(("T",)); round(share, 2), known
(1.0, ())
>>> share, known = repeats.least(("T",)); abs(round(share, 2)), known
(0.0, ('T',))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dudley.lab.statistics.pairs import CellSettings, by_cells

MOST = 2  # settings that are known at once


@dataclass(frozen=True, eq=False)
class Signs:
    """Ordered pairs of models by both signs, (3, 3, C, C): gap, measure; −, 0, +."""

    counts: np.ndarray
    settings: CellSettings

    @classmethod
    def of(cls, gap: np.ndarray, measure: np.ndarray, settings: CellSettings) -> Signs:
        order = np.argsort(settings.cell, kind="stable")
        cell, y, x = settings.cell[order], np.asarray(gap)[order], np.asarray(measure)[order]
        gaps, measures = sign_of(y), sign_of(x)
        counts = np.stack([
            [by_cells((gaps == g) & (measures == s), cell, settings.cells) for s in (-1, 0, 1)]
            for g in (-1, 0, 1)
        ])  # fmt: skip
        counts *= ~np.eye(settings.cells, dtype=bool)
        return cls(counts[[0, 2]], settings)  # pairs whose gaps are the same say nothing

    def share(self, known: Sequence[str], weights: np.ndarray | None = None) -> float:
        """I(G; M | U_S)/H(G | U_S) for S = ``known``; cells may have weights."""
        where = [self.settings.axes.index(axis) for axis in known]
        rows = self.settings.codes[:, where]
        label = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1) if where else 0
        one_hot = np.eye(int(np.max(label)) + 1)[label + np.zeros(len(rows), int)]
        if weights is not None:
            one_hot = one_hot * weights[:, None]
        joint = one_hot.T @ self.counts @ one_hot  # (2, 3, groups, groups)
        joint = joint / max(1.0, joint.sum())
        group, of_g, of_m = joint.sum((0, 1)), joint.sum(1), joint.sum(0)
        left = entropy(of_g) - entropy(group)
        mutual = entropy(of_g) + entropy(of_m) - entropy(joint) - entropy(group)
        return float(mutual / left) if left > 1e-12 else 0.0

    def least(self, axes: Sequence[str]) -> tuple[float, tuple[str, ...]]:
        """K, and the settings at which it is attained."""
        every = [some for size in range(MOST + 1) for some in combinations(axes, size)]
        return min(((self.share(some), some) for some in every), key=lambda pair: pair[0])


def sign_of(values: np.ndarray) -> np.ndarray:
    """Signs of all differences, (n, n)."""
    return (values[:, None] > values[None]).astype(np.int8) - (values[:, None] < values[None])


def entropy(p: np.ndarray) -> float:
    """−Σ p log p."""
    positive = p[p > 0]
    return float(-(positive * np.log(positive)).sum())

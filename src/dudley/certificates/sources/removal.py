"""Copies leave the pool, by one rule, before a sample is drawn.

Items are joined by copies: images by equal bytes, texts by `near.near_copies`. Of each set that is
joined the first item in the package's order stays. If the labels in it differ, nothing says which
is right, and the whole set is left out.

Copies are removed from the pool and never from a sample: what is left of a sample after that is no
sample of anything, while draws from a pool without copies are (see `finite` and `pool`).

>>> items, removal = removed(Items(("a b", "A b!", "c", "C"), np.array([0, 0, 0, 1]), {}))
>>> items.X, removal
(('a b',), Removal(read=4, exact=1, near=0, conflicting=2, rule='equal words, or sets of ...'))
"""

from __future__ import annotations

import numpy as np

from dudley.certificates.sources import near
from dudley.certificates.sources.pool import Items, Removal

BYTES = "equal bytes"


def removed(items: Items) -> tuple[Items, Removal]:
    """The items that stay, and the account of the others."""
    if isinstance(items.X, np.ndarray):
        exact = first = _equal_rows(items.X)
        rule = BYTES
    else:
        exact, first = near.copies(items.X)
        rule = near.RULE
    place = np.arange(len(first))
    differ = np.zeros(len(first), bool)
    differ[first[items.y != items.y[first]]] = True
    conflicting = differ[first]
    stays = (first == place) & ~conflicting
    exactly = int(((exact != place) & ~conflicting).sum())
    nearly = int(((first != place) & (exact == place) & ~conflicting).sum())
    record = Removal(len(first), exactly, nearly, int(conflicting.sum()), rule)
    return items.part(np.flatnonzero(stays)), record


def _equal_rows(X: np.ndarray) -> np.ndarray:
    """For each row the first one with the same bytes."""
    first: dict[bytes, int] = {}
    rows = np.ascontiguousarray(X).reshape(len(X), -1)
    return np.array([first.setdefault(row.tobytes(), i) for i, row in enumerate(rows)], np.int64)

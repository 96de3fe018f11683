"""Tags: every example has a name that its content gives, and a number that settles ties.

The *name* of an example is the first 128 bits of SHA-256 of (x, y), and the number of the copy:
equal examples are numbered 1, 2, …. The *tag* is a number in [0, 2^64) that is a function of the
declared seed and of the content alone, so copies share it; among them the row decides.

The proof in `bound` needs a strict order of the examples in which the place of each depends on
itself alone. Content and row give one, for any seed, a fixed one as well. (The number of a copy
would not do: it depends on the other copies. If the second of two had the larger tag it would be
picked first, and without the other it would be the first and have the smaller one.)

>>> X, y = np.array([[0, 1], [1, 1], [0, 1]]), np.array([0, 1, 0])
>>> table = TagTable.of(X, y, seed=0)
>>> [name[-2:] for name in table.names], len(set(table.tags.tolist()))
(['.1', '.1', '.2'], 2)
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

DIGITS = 32  # of a name: 128 bits


@dataclass(frozen=True, eq=False)
class TagTable:
    """Names and tags, one for every row."""

    names: tuple[str, ...]
    tags: np.ndarray

    @staticmethod
    def of(X: np.ndarray, y: np.ndarray, seed: int) -> TagTable:
        """The table of some examples; copies are numbered in the order of the rows."""
        times: Counter[str] = Counter()
        names, tags = [], np.empty(len(y), np.uint64)
        kind = f"{X.dtype.kind}{X.dtype.itemsize} {X.shape[1:]} ".encode()
        rows = np.ascontiguousarray(X).astype(X.dtype.newbyteorder("<"), copy=False)
        for i, label in enumerate(y.tolist()):
            digest = hashlib.sha256(kind + rows[i].tobytes() + f" {int(label)}".encode())
            content = digest.hexdigest()[:DIGITS]
            times[content] += 1
            name = f"{content}.{times[content]}"
            names.append(name)
            tag = hashlib.sha256(f"tag {seed} {content}.1".encode()).digest()[:8]
            tags[i] = int.from_bytes(tag, "little")
        return TagTable(tuple(names), tags)

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each name."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def order(self) -> np.ndarray:
        """All rows, the largest tag first, and of equal tags the last row."""
        return np.argsort(self.tags, kind="stable")[::-1]

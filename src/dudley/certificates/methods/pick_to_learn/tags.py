"""Tags: every example has a name that its content gives, and a number that settles ties.

The *name* of an example is the first 128 bits of SHA-256 of (x, y), and the number of the copy:
equal examples are numbered 1, 2, …. The *tag* is a number in [0, 2^64) that is a function of the
declared seed and the name.

**Without equal examples** any seed will do, a fixed one as well. The proof in `bound` needs a
strict order of examples in which each has a place that does not depend on the others. A tag that is
a function of the content gives one, if no two examples share it.

**With equal examples** the number of the copy enters, and it depends on the others: if the second
of two copies has the larger tag, it is picked first, and without the other copy it would be the
first and have the smaller one. So fixed tags give no such order. Tags that are drawn at random do:
given the bag of examples they are independent and uniform whatever the numbers, as the proof has
them. SHA-256 stands in for a random function, and that the seed was drawn at random is declared
where rows are equal (`dudley.certificates.order`). (A tag of the content alone would give copies
the same tag, and the proof needs a strict order of single examples.)

>>> X, y = np.array([[0, 1], [1, 1], [0, 1]]), np.array([0, 1, 0])
>>> table = TagTable.of(X, y, seed=0)
>>> [name[-2:] for name in table.names], len(set(table.tags.tolist()))
(['.1', '.1', '.2'], 3)
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
            tag = hashlib.sha256(f"tag {seed} {name}".encode()).digest()[:8]
            tags[i] = int.from_bytes(tag, "little")
        return TagTable(tuple(names), tags)

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each name."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def order(self) -> np.ndarray:
        """All rows, the largest tag first."""
        return np.argsort(self.tags, kind="stable")[::-1]

"""Pools: the items of a source without copies, from which samples are drawn without replacement.

A sample of n of the N items, every subset being as likely as any other, is what form C of
pick-to-learn and the hypergeometric hold-out ask for: declare ``pool=N``. The number is then about
these N items. Beyond them it says something only as far as they are draws of the population, and
that is declared, not checked.

The seed of a draw is one that was drawn at random: what is claimed of the pool holds with a
probability over this draw, and of one fixed subset nothing is said (`dudley.certificates.order`).

**Units.** Mails of a thread are alike, and so are reviews of a film: what is drawn without
replacement are items, so the number above stands, but it is about a *random item of this pool*. A
new thread is another matter. :meth:`DataPool.per_unit` therefore makes a pool with one item of each
unit, drawn at random, and :meth:`DataPool.draw_units` draws from it: n counts units, N is the
number of units, and the number is about the N items that were so drawn. Another item of a unit may
be another matter again.

>>> items = Items(np.arange(12, dtype=np.uint8).reshape(6, 2), np.arange(6) % 2,
...     {"thread": np.array([0, 0, 2, 2, 4, 5])})
>>> record = Provenance("npm", "toy", "1.0.0", "CC0-1.0", "", 1, "")
>>> pool = DataPool(items, "toy", "six rows", "thread", record, Removal(6, 0, 0, 0, "equal bytes"))
>>> sample, rest = pool.draw(4, seed=0)
>>> len(pool), sample.n, rest.n, pool.per_unit("thread", seed=0).n
(6, 4, 2, 4)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dudley.certificates import order
from dudley.certificates.data import Dataset, freeze
from dudley.core.errors import InputError, UnknownName


@dataclass(frozen=True, eq=False)
class Items:
    """Images or texts, labels, and for each kind of unit the number of an item's unit."""

    X: np.ndarray | tuple[str, ...]
    y: np.ndarray
    units: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self):
        lengths = {len(self.X), *(len(unit) for unit in self.units.values())}
        if self.y.ndim != 1 or lengths != {len(self.y)}:
            raise InputError("items", f"{len(self.y)} items and as many units", sorted(lengths))

    def part(self, rows: np.ndarray) -> Items:
        """Some of the items."""
        X = self.X[rows] if isinstance(self.X, np.ndarray) else tuple(self.X[i] for i in rows)
        return Items(X, self.y[rows], {name: unit[rows] for name, unit in self.units.items()})


@dataclass(frozen=True)
class Provenance:
    """Which package was read, its licence, and the hash of the files that were read.

    ``licence`` is the one that the package records for itself, ``terms`` what it says of the data.
    """

    registry: str
    package: str
    version: str
    licence: str
    terms: str
    files: int
    sha256: str


@dataclass(frozen=True)
class Removal:
    """How many items were read, and how many left by which rule."""

    read: int
    exact: int
    near: int
    conflicting: int
    rule: str


@dataclass(frozen=True, eq=False)
class DataPool:
    """N items without copies."""

    items: Items
    name: str
    population: str
    unit: str
    provenance: Provenance
    removal: Removal

    def __post_init__(self):
        if isinstance(self.items.X, np.ndarray):
            object.__setattr__(self.items, "X", freeze(self.items.X))

    def __len__(self) -> int:
        return self.n

    @property
    def n(self) -> int:
        return len(self.items.y)

    @property
    def X(self) -> np.ndarray | tuple[str, ...]:
        return self.items.X

    @property
    def y(self) -> np.ndarray:
        return self.items.y

    @property
    def units(self) -> Mapping[str, np.ndarray]:
        return self.items.units

    def encoded(self, X: np.ndarray) -> DataPool:
        """The same items with other inputs, such as the token ids of their texts."""
        return replace(self, items=Items(X, self.y, self.units))

    def draw(self, n: int, seed: int) -> tuple[Dataset, Dataset]:
        """n items drawn without replacement, and the rest; declare ``pool=len(self)``."""
        X = self.X
        if not isinstance(X, np.ndarray):
            raise InputError("X", "numbers", "texts", "encode them: pool.encoded(tokenised(…))")
        if not 1 <= n < self.n:
            raise InputError(f"n of {self.name}", f"1 to {self.n - 1:,}", n)
        rows = self._order("draw", seed)
        sample, rest = rows[:n], rows[n:]
        return Dataset(X[sample], self.y[sample]), Dataset(X[rest], self.y[rest])

    def draw_units(self, n: int, seed: int, unit: str) -> tuple[Dataset, Dataset]:
        """n units and an item of each, and the other units with an item of each.

        Declare ``pool=len(self.per_unit(unit, seed))``, the number of units.
        """
        return self.per_unit(unit, seed).draw(n, seed)

    def per_unit(self, unit: str, seed: int) -> DataPool:
        """The pool that has one item of each unit, drawn at random."""
        if unit not in self.units:
            raise UnknownName(f"unit of {self.name}", unit, self.units)
        rows = self._order("item of a unit", seed)
        first = np.unique(self.units[unit][rows], return_index=True)[1]
        return replace(
            self,
            items=self.items.part(np.sort(rows[first])),
            population=f"one item of each {unit}: {self.population}",
        )

    def _order(self, purpose: str, seed: int) -> np.ndarray:
        """An order that is a function of the seed and of nothing in the data."""
        if type(seed) is not int or not 0 <= seed < 1 << 64:
            raise InputError("seed", "a whole number from 0 on, below 2⁶⁴", seed)
        return order.permutation(f"{self.name} {purpose} {seed}", self.n)

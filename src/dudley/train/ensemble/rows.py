"""Rows of all members: whose they are, what a weight makes of them, how many at a time.

A batch is given in one of four ways: one for each member, (E, …), or `Padded` where sizes differ;
one that all share, without that axis; or `Shared`, one for each cell of members.

>>> from dudley.core.backend import torch
>>> X = torch.arange(24.0).reshape(2, 3, 4)  # of two cells, three rows of width four
>>> cells = Shared(X, (torch.tensor([1]), torch.tensor([0, 2])))
>>> of_members(cells, axes=3, E=3)[2].equal(X[1])
True
>>> of_members(X[0], axes=3, E=3).shape  # shared: one for all
torch.Size([1, 3, 4])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dudley.core.backend import torch
from dudley.core.errors import InputError

CACHE, MEMORY = 1 << 22, 1 << 26  # numbers worked on at a time: in a processor's cache, on a GPU


def of_members(inputs, axes: int, E: int) -> torch.Tensor:
    """A batch with the members' axis in front, of size E, or 1 where all share it."""
    if isinstance(inputs, Padded):
        inputs = inputs.rows
    if isinstance(inputs, Shared):
        if inputs.rows.ndim != axes or len(inputs.cell) != E:
            expected = f"batches with {axes} axes and the cells of {E} members"
            got = f"shape {tuple(inputs.rows.shape)} and {len(inputs.cell)} members"
            raise InputError("inputs", expected, got)
        return inputs.rows if len(inputs.rows) == 1 else inputs.rows[inputs.cell]
    if inputs.ndim == axes - 1:
        return inputs[None]
    if inputs.ndim != axes or len(inputs) not in (1, E):
        expected = f"{axes} axes, the first of size {E}, or {axes - 1} axes, shared by all"
        raise InputError("inputs", expected, f"shape {tuple(inputs.shape)}")
    return inputs


def through(X: torch.Tensor, W: torch.Tensor) -> torch.Tensor:
    """Rows X (E, …, a) of every member times its matrix W (E, a, b), as one batched product."""
    return (X.flatten(1, -2) @ W).unflatten(1, X.shape[1:-1])


def at_a_time(numbers: int, X: torch.Tensor) -> int:
    """How many examples to work on at once, if one takes so many numbers."""
    return max(1, (CACHE if X.device.type == "cpu" else MEMORY) // max(1, numbers))


@dataclass(frozen=True, eq=False)
class Padded:
    """Batches of unequal sizes: rows (E, M, …) of which member e uses the first ``counts[e]``."""

    rows: torch.Tensor
    counts: torch.Tensor  # (E,) int32

    @classmethod
    def full(cls, rows: torch.Tensor) -> Padded:
        """All rows in use."""
        size = torch.full((len(rows),), rows.shape[1], dtype=torch.int32, device=rows.device)
        return cls(rows, size)

    def of(self, members: torch.Tensor) -> Padded:
        """Those of some members."""
        return Padded(self.rows[members], self.counts[members])


@dataclass(frozen=True, eq=False)
class Shared:
    """Batches (C, N, …) of C cells, and the members of each cell."""

    rows: torch.Tensor
    members: tuple[torch.Tensor, ...]

    @cached_property
    def cell(self) -> torch.Tensor:
        """The cell of each member, (E,)."""
        whole = torch.empty(sum(map(len, self.members)), dtype=torch.int64, device=self.rows.device)
        for c, members in enumerate(self.members):
            whole[members] = c
        return whole

    def of(self, members: torch.Tensor) -> Shared:
        """Those of some members, with the rows of their cells alone."""
        cell = self.cell[members]
        present = cell.unique()
        return Shared(self.rows[present], tuple((cell == c).nonzero()[:, 0] for c in present))

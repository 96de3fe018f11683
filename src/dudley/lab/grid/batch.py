"""A batch: trials that run together, in order, and what that costs.

A single trial and a packed one drift apart in the last bits, so the packing belongs to what a
result depends on: the hash stored beside a result is of its trial *and* of its batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dudley.core.canonical import digest
from dudley.core.errors import InputError
from dudley.lab.grid.trial import Trial


@dataclass(frozen=True)
class Cost:
    """Memory in bytes, and work in any unit that is proportional to time (tokens, say)."""

    bytes: int
    work: float

    def __post_init__(self):
        if not isinstance(self.bytes, int) or self.bytes < 0:
            raise InputError("bytes of a trial", "an integer ≥ 0", self.bytes)
        if not (math.isfinite(self.work) and self.work > 0):
            raise InputError("work of a trial", "a finite number > 0", self.work)


def together(costs: Sequence[Cost]) -> Cost:
    """Cost of trials that run in step: each takes as much as the largest of them.

    >>> together([Cost(10, 3.0), Cost(20, 1.0)])
    Cost(bytes=40, work=6.0)
    """
    E = len(costs)
    return Cost(E * max(cost.bytes for cost in costs), E * max(cost.work for cost in costs))


@dataclass(frozen=True)
class Batch:
    """Trials in the order of the ensemble's axis, with the cost of running them together."""

    number: int
    trials: tuple[Trial, ...]
    cost: Cost

    def __post_init__(self):
        if not self.trials:
            raise InputError(f"trials of batch {self.number}", "at least one", "none")

    def __len__(self) -> int:
        return len(self.trials)

    def __str__(self) -> str:
        return f"batch {self.number}: {len(self)} trials, {self.cost}"

    @property
    def keys(self) -> list[int]:
        """The trials' keys, in order."""
        return [trial.key for trial in self.trials]

    @cached_property
    def hash(self) -> str:
        """sha256 of the trials in order: the packing."""
        return digest([trial.hash for trial in self.trials])

    def hash_of(self, index: int) -> str:
        """sha256 of one trial, the packing and its place in it."""
        return digest([self.trials[index].hash, self.hash, index])

"""Planted sparse Boolean functions: labels that depend on s hidden bits of T.

    x ∈ {0,1}^T, bits independent, 1 with probability p;   I uniform among the s-subsets, hidden;
    y = f(x_I), flipped with probability ``noise``

f is and, or, majority (more than half: a tie is 0), parity, threshold (at least k) or an arbitrary
truth table, read with the smallest hidden index as the leading bit (`constructions.targets`).
Inputs stay packed; labels read their s columns and nothing else.

Sparse AND and parity: edelman2021, section 5; sparse majority: trauger2024, section 6.

>>> from dudley.core.philox import key, keys_tensor
>>> task = Planted("and", T=100, s=3, m=50, holdout=1000)
>>> keys = keys_tensor([key("and", trial) for trial in range(4)])
>>> data = task.sample(keys)
>>> data.inputs.shape, data.labels.shape        # 100 bits are 4 words
(torch.Size([4, 50, 4]), torch.Size([4, 50]))
>>> cell = torch.zeros(4, dtype=torch.int64)    # four trials of one cell share the hold-out's bits
>>> shared = task.held_out(keys, keys_tensor([key("cell")]), cell)
>>> shared.inputs.shape, shared.labels.shape
(torch.Size([1, 1000, 4]), torch.Size([4, 1000]))
>>> task.rate                                   # P(y = 1)
0.125
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.core.philox import StepNumber, Stream, packed_bits, subsets
from dudley.theorems.constructions.targets import TASKS as FUNCTIONS, Target, all_bits, target
from dudley.train.packed import column, unpack
from dudley.train.tasks.base import Endless, Labelled, checked_cells, finite
from dudley.train.tasks.registry import TASKS


@dataclass(frozen=True)
class Planted(Endless):
    """``k`` is threshold's, ``table`` (2^s zeros and ones) the truth table's.

    Labels to evaluate on are free of noise unless ``holdout_noise``.
    """

    # the function of the hidden bits: and, or, majority, parity, …
    name: str  # pyright: ignore[reportIncompatibleVariableOverride]
    T: int  # bits of an input
    s: int  # hidden bits that the label depends on
    m: int | None = None  # training examples; None where training is online
    holdout: int = 10_000  # examples of each split to evaluate on
    p: float = 0.5  # probability that a bit is 1
    noise: float = 0.0  # probability that a label is flipped
    holdout_noise: bool = False  # are labels to evaluate on flipped too?
    k: int | None = None  # of threshold: at least so many ones
    table: tuple[int, ...] | None = None  # of table: its 2^s zeros and ones

    def __post_init__(self):
        for name in ("T", "s", "holdout") + (("m",) if self.m is not None else ()):
            size_of(f"{name} of a planted task", getattr(self, name))
        if self.s > self.T:
            raise InputError("s", f"at most T = {self.T} hidden bits", self.s)
        for name in ("p", "noise"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} of a planted task", "a probability", getattr(self, name))
        if self.table is not None:
            object.__setattr__(self, "table", tuple(self.table))
        if not set(self.target.values) <= {0, 1}:
            raise InputError("table", "zeros and ones", self.table)

    @cached_property
    def target(self) -> Target:
        """The function of the hidden bits."""
        table = None if self.table is None else np.array(self.table)
        return target(self.name, self.s, self.k, table)

    @cached_property
    def rate(self) -> float:
        """P(y = 1) without noise; the likelier label alone errs with min(rate, 1 − rate)."""
        ones = all_bits(self.s).sum(1)
        return float(self.target.values @ (self.p**ones * (1 - self.p) ** (self.s - ones)))

    def indices(self, keys: torch.Tensor) -> torch.Tensor:
        """The hidden positions of every trial, (E, s), increasing."""
        return subsets(keys, self.T, self.s)

    def labels(
        self, bits: torch.Tensor, indices: torch.Tensor, cell: torch.Tensor | None = None
    ) -> torch.Tensor:
        """f of the hidden bits, (E, N) int64, for packed bits (E, N, W) or (C, N, W) by cell."""
        code = column(bits, indices[:, 0], cell)
        for j in range(1, self.s):
            code = 2 * code + column(bits, indices[:, j], cell)
        return _values_on(self, bits.device)[code.long()]

    def sample(self, keys):
        bits = packed_bits(keys, Stream.INPUTS, 0, finite(self, self.m), self.T, self.p)
        return self._labelled(keys, bits, Stream.LABELS, 0)

    def stream(self, keys: torch.Tensor, step: StepNumber, batch: int) -> Labelled:
        """A fresh batch; step t of it has the counters of step t + 1, as ``sample`` has step 0."""
        bits = packed_bits(keys, Stream.INPUTS, step + 1, batch, self.T, self.p)
        return self._labelled(keys, bits, Stream.LABELS, step + 1)

    def held_out(self, keys, cell_keys=None, cell=None, stream=Stream.HOLDOUT):
        cell_keys, cell = checked_cells(keys, cell_keys, cell)
        bits = packed_bits(cell_keys, stream, 0, self.holdout, self.T, self.p)
        if self.holdout_noise:
            return self._labelled(keys, bits, stream, 1, cell)
        return Labelled(bits, self.labels(bits, self.indices(keys), cell), cell)

    def _labelled(self, keys, bits, stream, step, cell=None) -> Labelled:
        labels = self.labels(bits, self.indices(keys), cell)
        if self.noise:
            N = labels.shape[1]
            flips = packed_bits(keys, stream, step, 1, N, self.noise)[:, 0]
            labels = labels ^ unpack(flips, N, torch.int64)
        return Labelled(bits, labels, cell)


for _function in FUNCTIONS:
    TASKS.register(_function)(Planted)


@cache
def _values_on(task: Planted, device: torch.device) -> torch.Tensor:
    """The truth table on a device, copied there once."""
    return torch.from_numpy(task.target.values).long().to(device)

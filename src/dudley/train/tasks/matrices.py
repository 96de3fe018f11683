"""Input matrices X ∈ R^{T×d} with independent entries, and a target that is a planted map of X.

    linear:  f(X) = ⟨A, X⟩,                                A with entries N(0, 1/(Td))
    head:    f(X) = Σ_t a_t ⟨x_t, v⟩,  a = softmax(X u),   u, v with entries N(0, 1/d)

A, u, v are drawn for every trial. Labels: for regression f(X) + noise·N(0, 1), float32; for
classification 1{f(X) > 0}, flipped with probability ``noise``, int64. Entries are gaussian, or
heavy-tailed (`tasks.entries`): the inputs of li2026, section 6.

Targets are sums and exponentials of floats, which devices round differently: data are computed in
float64 by the CPU, rounded, and then sent to the keys' device.

>>> from dudley.core.philox import key, keys_tensor
>>> task = Matrices(T=8, d=4, law="pareto", tail=2.5, planted="head", kind="regression", m=30)
>>> data = task.sample(keys_tensor([key("matrices", 0), key("matrices", 1)]))
>>> data.inputs.shape, data.labels.shape
(torch.Size([2, 30, 8, 4]), torch.Size([2, 30]))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dudley.core.backend import torch
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError, UnknownName
from dudley.core.philox import StepNumber, Stream, normal, packed_bits
from dudley.train.packed import unpack
from dudley.train.tasks.base import Endless, Labelled, checked_cells, finite
from dudley.train.tasks.entries import entries
from dudley.train.tasks.registry import TASKS

PLANTED, KINDS = ("linear", "head"), ("regression", "classification")


@TASKS.register("matrices")
@dataclass(frozen=True)
class Matrices(Endless):
    """``law`` and ``tail`` of the entries, ``planted`` map, ``kind`` of labels."""

    name: ClassVar[str] = "matrices"
    T: int  # rows of an input, its tokens
    d: int  # columns of an input
    law: str = "gaussian"  # law of the entries: gaussian, student, pareto
    tail: float | None = None  # index of a heavy tail; None for gaussian
    planted: str = "linear"  # the target: linear or head
    kind: str = "regression"  # regression or classification
    noise: float = 0.0  # deviation of labels, or probability that one is flipped
    m: int | None = None  # training examples; None where training is online
    holdout: int = 10_000  # examples of each split to evaluate on
    holdout_noise: bool = False  # are labels to evaluate on noisy too?

    def __post_init__(self):
        for name in ("T", "d", "holdout") + (("m",) if self.m is not None else ()):
            size_of(f"{name} of matrices", getattr(self, name))
        entries(self.law, self.tail)
        if self.planted not in PLANTED:
            raise UnknownName("planted map", self.planted, PLANTED)
        if self.kind not in KINDS:
            raise UnknownName("kind of labels", self.kind, KINDS)
        if radius_of("noise of matrices", self.noise) > 1 and self.kind == "classification":
            raise InputError("noise of labels", "a probability", self.noise)

    def target(self, X: torch.Tensor, keys: torch.Tensor, cell=None) -> torch.Tensor:
        """f(X) of every trial without noise, (E, N), float64 by the CPU."""
        X, keys = X.cpu().double(), keys.cpu()
        rows = range(len(keys)) if cell is None else cell.tolist()
        if self.planted == "linear":
            A = normal(keys, Stream.INDICES, 0, self.T * self.d).double()
            scale = (self.T * self.d) ** -0.5
            return torch.stack([X[c].flatten(1) @ A[e] * scale for e, c in enumerate(rows)])
        uv = normal(keys, Stream.INDICES, 0, 2 * self.d).double().unflatten(1, (2, self.d))
        scores = [(X[c] @ uv[e].T) * self.d**-0.5 for e, c in enumerate(rows)]  # (N, T, 2)
        return torch.stack([(s[..., 0].softmax(-1) * s[..., 1]).sum(-1) for s in scores])

    def sample(self, keys):
        X = self._inputs(keys, Stream.INPUTS, 0, finite(self, self.m))
        return self._labelled(keys, X, Stream.LABELS, 0, True)

    def stream(self, keys: torch.Tensor, step: StepNumber, batch: int) -> Labelled:
        """A fresh batch; step t of it has the counters of step t + 1, as ``sample`` has step 0."""
        X = self._inputs(keys, Stream.INPUTS, step + 1, batch)
        return self._labelled(keys, X, Stream.LABELS, step + 1, True)

    def held_out(self, keys, cell_keys=None, cell=None, stream=Stream.HOLDOUT):
        cell_keys, cell = checked_cells(keys, cell_keys, cell)
        X = self._inputs(cell_keys, stream, 0, self.holdout)
        return self._labelled(keys, X, stream, 1, self.holdout_noise, cell)

    def _inputs(self, keys, stream, step, rows) -> torch.Tensor:
        step = step.cpu() if isinstance(step, torch.Tensor) else step
        x = entries(self.law, self.tail)(keys.cpu(), stream, step, rows * self.T * self.d)
        return x.float().reshape(-1, rows, self.T, self.d)

    def _labelled(self, keys, X, stream, step, noisy: bool, cell=None) -> Labelled:
        labels = self.target(X, keys, cell)
        N = labels.shape[1]
        step = step.cpu() if isinstance(step, torch.Tensor) else step
        if self.kind == "regression":
            if noisy and self.noise:
                labels = labels + self.noise * normal(keys.cpu(), stream, step, N)
            labels = labels.float()
        else:
            labels = (labels > 0).long()
            if noisy and self.noise:
                flips = packed_bits(keys.cpu(), stream, step, 1, N, self.noise)[:, 0]
                labels = labels ^ unpack(flips, N, torch.int64)
        return Labelled(X.to(keys.device), labels.to(keys.device), cell)

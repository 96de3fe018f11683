"""The sparse code: where a matrix is not zero, and on which level.

For every matrix: the number of nonzeros (gamma), and if there are any, how it is *folded*, its
step, the largest level q (gamma), the support among its p free entries (log₂ C(p, k) bits) and the
levels among ±1, …, ±q (`atoms.Levels`).

Where the inputs are T bits, one-hot by (bit, place), rows i and T + i of a matrix with 2T + 1 rows
belong to place i. Such a matrix may be folded: *odd*, row i is minus row T + i; *even*, they are
equal; or plain. Folded it has (T + 1) × k free entries, and a place costs one of them, not two.

>>> from dudley.certificates.codes.base import Frame
>>> frame = Frame((("W", (5, 1)),), T=2)
>>> W = {"W": np.array([[-3.0], [0], [3], [0], [0]])}
>>> [(part.fold, part.step, part.levels.ravel()) for (part,) in SparseCode().describe(W, frame)]
[('odd', 3.0, array([1, 0, 0]))]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.codes.atoms import GAMMA, STEP, Levels, Subset
from dudley.certificates.codes.base import ModelCode, code, on_grid
from dudley.certificates.codes.interval import Reader, Writer
from dudley.core.errors import InputError

FOLDS = ("plain", "odd", "even")


@dataclass(frozen=True, eq=False)
class SparsePart:
    """One matrix: its fold, step and integer levels of the free entries."""

    fold: str
    step: float
    levels: np.ndarray


def unfold(fold: str, U, T: int | None) -> Any:
    """The matrix of its free entries; numpy or torch."""
    if fold == "plain" or T is None:
        return U
    places, last = U[:T], U[T:]
    both = [-places if fold == "odd" else places, places, last]
    if isinstance(U, np.ndarray):
        return np.concatenate(both) + 0.0  # no −0
    from dudley.core.backend import torch

    return torch.cat(both)


def fold_matrix(fold: str, W: np.ndarray, T: int | None) -> np.ndarray:
    """The free entries of a matrix of that fold."""
    return W if fold == "plain" or T is None else W[T:]


def folds_of(shape: tuple[int, int], T: int | None) -> tuple[str, ...]:
    """The folds that a matrix of this shape may have."""
    return FOLDS if T is not None and shape[0] == 2 * T + 1 else FOLDS[:1]


@code
class SparseCode(ModelCode):
    """Support and levels."""

    name: ClassVar[str] = "sparse"
    prefix: ClassVar[int] = 0

    def describe(self, weights, frame):
        parts = []
        for name, shape in frame.shapes:
            grid = on_grid(weights[name])
            if grid is None:
                return []
            step, N = grid
            fold = next(f for f in ("odd", "even", "plain") if _fits(f, N, shape, frame.T))
            parts.append(SparsePart(fold, step, fold_matrix(fold, N, frame.T)))
        return [tuple(parts)]

    def weights(self, description, frame):
        made = {}
        for (name, shape), part in zip(frame.shapes, description, strict=True):
            W = unfold(part.fold, part.step * part.levels.astype(np.float64), frame.T)
            made[name] = np.ascontiguousarray(W).reshape(shape)
        return made

    def put(self, out, description, frame):
        for (_, shape), part in zip(frame.shapes, description, strict=True):
            self._put(out, part, folds_of(shape, frame.T))

    def get(self, source, frame):
        return tuple(self._get(source, shape, frame.T) for _, shape in frame.shapes)

    def _put(self, out: Writer, part: SparsePart, folds: tuple[str, ...]) -> None:
        flat = part.levels.ravel()
        support = np.flatnonzero(flat)
        GAMMA.put(out, len(support) + 1)
        if not len(support):
            return
        q = int(np.abs(flat).max())
        out.uniform(folds.index(part.fold), len(folds))
        STEP.put(out, part.step)
        GAMMA.put(out, q)
        Subset(len(flat), len(support)).put(out, support)
        signed = flat[support]
        Levels(len(support), 2 * q).put(out, np.where(signed > 0, signed - 1, q - 1 - signed))

    def _get(self, source: Reader, shape: tuple[int, int], T: int | None) -> SparsePart:
        folds, count = folds_of(shape, T), GAMMA.get(source) - 1
        fold = folds[source.uniform(len(folds))] if count else folds[0]
        rows = shape[0] if fold == "plain" or T is None else T + 1
        levels = np.zeros(rows * shape[1], np.int64)
        if not count:
            return SparsePart(fold, 1.0, levels.reshape(rows, shape[1]))
        if count > len(levels):
            raise InputError("code word", f"at most {len(levels)} nonzeros", count)
        step, q = STEP.get(source), GAMMA.get(source)
        if q > 1 << 15:
            raise InputError("code word", "levels up to 2^15", q)
        support = list(Subset(len(levels), count).get(source))
        letters = Levels(count, 2 * q).get(source)
        levels[support] = np.where(letters < q, letters + 1, q - 1 - letters)
        return SparsePart(fold, step, levels.reshape(rows, shape[1]))


def _fits(fold: str, N: np.ndarray, shape: tuple[int, int], T: int | None) -> bool:
    if fold not in folds_of(shape, T):
        return False
    if fold == "plain" or T is None:
        return fold == "plain"
    return np.array_equal(N[:T], -N[T : 2 * T] if fold == "odd" else N[T : 2 * T])

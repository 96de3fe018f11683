"""The hashed code: every weight moves along one of D coordinates, with a sign of its own.

    θ_i − θ₀_i = c · step · s_i · ℓ_{h(i)},      ℓ ∈ {−q, …, q}^D,

with ℓ coded by `atoms.Levels` (L = 2q + 1 letters), D and L from lists fixed before, and h(i) ∈
{0, …, D−1}, s_i = ±1 the bits of one random word a weight, a function of the declared seed and of
the tensor's name. c is the power of two that `words` multiplies every difference by.
The columns of this random subspace are orthogonal, and the map costs one look-up a weight: it
serves 10⁷ weights where a dense matrix serves 10⁴. Random subspaces: Li, Farkhoor, Liu, Yosinski
2018; weights that share hashed values: Chen, Wilson, Tyree, Weinberger, Chen 2015.

step · ℓ is exact in float64: ℓ is a small integer, and step has twelve binary digits.

>>> frame = Frame((("W", (4, 2)),), seed=7, dimensions=(2, 5), levels=(3, 7))
>>> point = HashedPoint(5, 7, 0.5, np.array([1, 0, -3, 2, 0]))
>>> out = Writer()
>>> Hashed().put(out, point, frame)
>>> back = Hashed().get(Reader(out.bits()), frame)
>>> out.bits().length, np.array_equal(back.levels, point.levels)
(22, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dudley.certificates.codes.atoms import STEP, Levels, OneOf
from dudley.certificates.codes.base import Frame
from dudley.certificates.codes.interval import Reader, Writer
from dudley.core.errors import InputError


@dataclass(frozen=True, eq=False)
class HashedPoint:
    """A point ℓ of the grid with L letters in D dimensions."""

    D: int
    L: int
    step: float
    levels: np.ndarray


class Hashed:
    """Final: the code, as `codes.base.ModelCode` has it; its words need a kind before them."""

    name: ClassVar[str] = "hashed"

    def weights(self, description: HashedPoint, frame: Frame) -> dict[str, np.ndarray]:
        """The difference of each tensor."""
        ℓ, made = description.levels.astype(np.float64), {}
        for name, shape in frame.shapes:
            place, sign = hashes(frame.seed, name, math.prod(shape), description.D)
            made[name] = (description.step * (sign * ℓ[place]) + 0.0).reshape(shape)
        return made

    def put(self, out: Writer, description: HashedPoint, frame: Frame) -> None:
        """Write D, L, the step and the levels."""
        OneOf(len(frame.dimensions)).put(out, frame.dimensions.index(description.D))
        OneOf(len(frame.levels)).put(out, frame.levels.index(description.L))
        STEP.put(out, description.step)
        Levels(description.D, description.L).put(out, description.levels + description.L // 2)

    def get(self, source: Reader, frame: Frame) -> HashedPoint:
        """Read them."""
        if not frame.dimensions or not frame.levels:
            raise InputError("code word", "declared dimensions and levels", "none")
        D = frame.dimensions[OneOf(len(frame.dimensions)).get(source)]
        L = frame.levels[OneOf(len(frame.levels)).get(source)]
        step = STEP.get(source)
        return HashedPoint(D, L, step, Levels(D, L).get(source) - L // 2)


def hashes(seed: int, name: str, count: int, D: int) -> tuple[np.ndarray, np.ndarray]:
    """The coordinate h(i) and the sign s_i of every weight of a tensor."""
    from dudley.core.philox import Stream, key, keys_tensor, words

    keys = keys_tensor([key("certify.hashed", seed, name)])
    word = words(keys, Stream.WEIGHTS, 0, count)[0].numpy()
    # The coordinate is made of the high bits, the sign of the lowest.
    return ((word * D) >> 32).astype(np.int32), (2 * (word & 1) - 1).astype(np.int8)

"""The subspace code: a random affine subspace fixed before the data, and a point on a grid in it.

θ = θ₀ + step · c ⊙ (P ℓ), with ℓ ∈ {−h, …, h}^D coded by `atoms.Levels` (L = 2h + 1 letters), D and
L from lists fixed before, and everything random a function of the declared seed (`train.random`):
θ₀ ~ N(0, c²) (1 for gains of norm layers, 0 for biases), c the power of two next to 1/√rows for the
matrix (times one next to 1/√D in the move), P signs. Li, Farkhoor, Liu, Yosinski 2018; bounds:
Lotfi et al. 2022.

With a rank r ≥ 1 the matrices move inside products instead (LoRA in a subspace, Lotfi et al. 2024):
W = W₀ + step · c · A B, where the factors are A = b S + (Pℓ)_A, B = (Pℓ)_B with S signs and b the
power of two next to 2√D, for every matrix whose sides both exceed r.

P ℓ and A B are integers below 2^53, step and c are dyadic: one rounding, in adding θ₀.

>>> from dudley.certificates.codes.base import read, write
>>> frame = Frame((("W", (4, 2)),), seed=7, dimensions=(2, 5), levels=(3, 7))
>>> point = SubspacePoint(5, 7, 0, 0.5, np.array([1, 0, -3, 2, 0]))
>>> bits = write("subspace", point, frame)
>>> bits.length, np.array_equal(read(bits, frame)[1].levels, point.levels)
(25, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dudley.certificates.codes.atoms import GAMMA, MANTISSA, STEP, Levels, OneOf
from dudley.certificates.codes.base import Frame, ModelCode, code, on_grid
from dudley.core.errors import InputError

MOST_SIGNS = 1 << 28  # of all maps: 2 GiB
CHECKED = 64  # rows by which a candidate is tried


@dataclass(frozen=True, eq=False)
class SubspacePoint:
    """A point ℓ of the grid with L letters in D dimensions; rank 0 moves the weights themselves."""

    D: int
    L: int
    rank: int
    step: float
    levels: np.ndarray


@dataclass(frozen=True, eq=False)
class Map:
    """How one matrix moves: W₀ + step·scale·(P ℓ), or the same with A B of rank ≥ 1."""

    start: np.ndarray  # (m, n)
    scale: float
    P: np.ndarray  # (m·n, D), or ((m + n)·r, D)
    rank: int
    S: np.ndarray  # (m, r), multiples of b

    def moved(self, ℓ):
        """The move, in units of step·scale, for ℓ of numpy or torch."""
        m, n = self.start.shape
        moved = self.P @ ℓ
        if not self.rank:
            return moved.reshape(m, n)
        cut = m * self.rank
        return (self.S + moved[:cut].reshape(m, self.rank)) @ moved[cut:].reshape(self.rank, n)


def expect_small(frame: Frame, D: int, rank: int) -> None:
    """Refuse a subspace whose signs would fill the memory.

    >>> expect_small(Frame((("W", (30_000, 400)),)), 100, 0)
    Traceback (most recent call last):
    dudley.core.errors.InputError: random subspace of 100 dimensions: expected at most ..., got ...
    """
    numbers = D * sum(
        (m + n) * rank if 0 < rank < min(m, n) else m * n for _, (m, n) in frame.shapes
    )
    if numbers > MOST_SIGNS:
        expected, got = f"at most {MOST_SIGNS:,} signs", f"{numbers:,}"
        fix = "declare fewer dimensions, or a rank"
        raise InputError(f"random subspace of {D} dimensions", expected, got, fix)


@lru_cache(maxsize=4)
def maps(frame: Frame, D: int, rank: int) -> dict[str, Map]:
    """The maps of all matrices: a function of the frame, D and the rank."""
    from dudley.core.philox import Stream, key, keys_tensor, normal, words

    expect_small(frame, D, rank)
    made, b = {}, 2.0 ** round(math.log2(2 * math.sqrt(D)))
    for name, (m, n) in frame.shapes:
        keys = keys_tensor([key("certify.subspace", frame.seed, name)])
        r = rank if min(m, n) > rank else 0
        c = 2.0 ** -round(math.log2(m) / 2)
        start, last = np.zeros((m, n)), name.rpartition(".")[2]
        if last in ("gain", "g_q", "g_k"):
            start, c = start + 1.0, 0.5
        elif not last.startswith("b"):
            start = normal(keys, Stream.WEIGHTS, 0, m * n)[0].numpy().astype(np.float64) * c
        inner = (m + n) * r if r else m * n
        P = _signs(words(keys, Stream.WEIGHTS, 1 + rank, inner * -(-D // 32)), inner, D)
        S = b * _signs(words(keys, Stream.WEIGHTS, 1 << 20, m), m, r) if r else np.zeros((m, 0))
        shrink = 2.0 ** -round(math.log2(D) / 2)
        scale = c * shrink * (shrink / b * 2 if r else 1.0)
        made[name] = Map(start.reshape(m, n), scale, P, r, S)
    return made


@code
class Subspace(ModelCode):
    """A point of a random subspace."""

    name: ClassVar[str] = "subspace"
    prefix: ClassVar[int] = 1

    def describe(self, weights, frame):
        if all(on_grid(weights[name]) is not None for name, _ in frame.shapes):
            return []  # θ₀ is on no short grid: other kinds serve
        return [p for D in frame.dimensions if (p := _point(weights, frame, D)) is not None]

    def weights(self, description, frame):
        ℓ, made = description.levels.astype(np.float64), {}
        for name, map_ in maps(frame, description.D, description.rank).items():
            moved = map_.moved(ℓ)
            if np.abs(moved).max(initial=0) * MANTISSA >= 2.0**53:
                raise InputError("a move in the subspace", "integers below 2^41", moved.max())
            made[name] = map_.start + (description.step * map_.scale) * moved
        return made

    def put(self, out, description, frame):
        D, L, h = description.D, description.L, description.L // 2
        OneOf(len(frame.dimensions)).put(out, frame.dimensions.index(D))
        OneOf(len(frame.levels)).put(out, frame.levels.index(L))
        GAMMA.put(out, description.rank + 1)
        STEP.put(out, description.step)
        Levels(D, L).put(out, description.levels + h)

    def get(self, source, frame):
        if not frame.dimensions or not frame.levels:
            raise InputError("code word", "declared dimensions and levels", "none")
        D = frame.dimensions[OneOf(len(frame.dimensions)).get(source)]
        L = frame.levels[OneOf(len(frame.levels)).get(source)]
        rank = GAMMA.get(source) - 1
        if rank > 64:
            raise InputError("code word", "a rank up to 64", rank)
        step = STEP.get(source)
        return SubspacePoint(D, L, rank, step, Levels(D, L).get(source) - L // 2)


def _signs(words, rows: int, columns: int) -> np.ndarray:
    """±1 of the low bits of 32-bit words, (rows, columns), float64."""
    wide = words.reshape(rows, -1).numpy().astype("<u4")
    bits = np.unpackbits(wide.view(np.uint8), axis=1, bitorder="little")[:, :columns]
    return 2.0 * bits - 1.0


def _point(weights, frame: Frame, D: int) -> SubspacePoint | None:
    """The point of a subspace of rank 0 that these weights are, if they are one.

    The moves of the first matrices, D + 64 of them, determine step·ℓ by least squares; what is
    found is tried exactly by whoever asked.
    """
    some: list[tuple[str, tuple[int, int]]] = []
    for entry in frame.shapes:
        if sum(math.prod(shape) for _, shape in some) < D + CHECKED:
            some.append(entry)
    rows, moves = [], []
    for name, map_ in maps(replace(frame, shapes=tuple(some)), D, 0).items():
        rows.append(map_.P)
        moves.append((weights[name] - map_.start).ravel() / map_.scale)
    P, moved = np.concatenate(rows), np.concatenate(moves)
    z, *_ = np.linalg.lstsq(P, moved, rcond=None)
    if not np.abs(P @ z - moved).max() < 1e-6 * (1 + np.abs(moved).max()):
        return None
    size = np.abs(z).max()
    if size == 0:
        return (
            SubspacePoint(D, frame.levels[0], 0, 1.0, np.zeros(D, np.int64))
            if frame.levels
            else None
        )
    for L in frame.levels:
        for h in range(L // 2, 0, -1):
            ℓ = np.rint(z * h / size)
            if np.abs(z - ℓ * (size / h)).max() < 1e-4 * size:
                return SubspacePoint(D, L, 0, short(size / h), ℓ.astype(np.int64))
    return None


def short(x: float) -> float:
    """x with twelve binary digits."""
    m, e = math.frexp(x)
    return math.ldexp(round(m * 4096), e - 12)

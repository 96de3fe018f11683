"""Codes of whole models: two bits for the kind, then what that kind needs.

A decoder is given a :class:`Reader` and a :class:`Frame`, and nothing else: the frame holds what
was fixed before the data (the shapes of the network, whether its inputs are bits, the seed of
random subspaces and the lists that D and L come from). So whatever else a model was made of must be
in the bits, or the decoded weights differ from the model's and no certificate is given.

A *description* is what a kind writes: plain numbers and integer arrays. ``describe`` finds
descriptions of given weights, ``weights`` turns a description into float64 weights by operations
that IEEE 754 rounds one by one (integer sums below 2^53 and products by dyadic steps are exact), so
it gives the same bits on every machine.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from dudley.certificates.codes.interval import CodeWord, Reader, Writer
from dudley.certificates.hypothesis import Hypothesis
from dudley.core.errors import DudleyError, InputError
from dudley.core.registry import Registry

WeightArrays = dict[str, np.ndarray]
COARSEST = 1 << 15  # largest level
KINDS = 4


@dataclass(frozen=True)
class Frame:
    """What a decoder may know beside the bits, all of it fixed before the data."""

    shapes: tuple[tuple[str, tuple[int, int]], ...]
    T: int | None = (
        None  # the inputs are T bits: rows i and T + i of a (2T+1)-row matrix are a pair
    )
    seed: int = 0
    dimensions: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of weights."""
        return sum(math.prod(shape) for _, shape in self.shapes)


class ModelCode(ABC):
    """Abstract: a kind of code."""

    name: ClassVar[str]
    prefix: ClassVar[int]

    @abstractmethod
    def describe(self, weights: WeightArrays, frame: Frame) -> list[Any]:
        """Descriptions of these weights; empty where this kind has none."""

    @abstractmethod
    def weights(self, description: Any, frame: Frame) -> WeightArrays:
        """The weights described."""

    @abstractmethod
    def put(self, out: Writer, description: Any, frame: Frame) -> None:
        """Write a description."""

    @abstractmethod
    def get(self, source: Reader, frame: Frame) -> Any:
        """Read it."""


CODES: Registry[ModelCode] = Registry("code", "dudley.certificates.codes.kinds.*")
_PREFIXES: set[int] = set()  # of the kinds that are registered


def code(cls: type[ModelCode]) -> type[ModelCode]:
    """Register a kind under its name; prefixes are told apart."""
    if not 0 <= cls.prefix < KINDS or cls.prefix in _PREFIXES:
        raise ValueError(f"prefix {cls.prefix} of {cls.name} is taken or not of two bits")
    _PREFIXES.add(cls.prefix)
    CODES.register(cls.name)(cls())
    return cls


class DeclaredLists(Protocol):
    """What is declared of random subspaces: a seed, and lists of D and L."""

    @property
    def seed(self) -> int: ...

    @property
    def dimensions(self) -> tuple[int, ...]: ...

    @property
    def levels(self) -> tuple[int, ...]: ...


def frame_of(model: Hypothesis, declared: DeclaredLists) -> Frame:
    """The frame of a model's network and of what was declared."""
    T = model.encoding_table["T"] if model.encoding_table.get("name") == "bits" else None
    shapes = tuple(model.shapes.items())
    return Frame(shapes, T, declared.seed, declared.dimensions, declared.levels)


def write(name: str, description: Any, frame: Frame) -> CodeWord:
    """The code word of a description."""
    out, kind = Writer(), CODES[name]
    out.uniform(kind.prefix, KINDS)
    kind.put(out, description, frame)
    return out.bits()


def read(bits: CodeWord, frame: Frame) -> tuple[str, Any]:
    """The kind and the description of a code word; a string that is none is refused."""
    source = Reader(bits)
    prefix = source.uniform(KINDS)
    name = next((name for name, kind in CODES.items() if kind.prefix == prefix), None)
    if name is None:
        raise InputError("code word", "a known kind", f"prefix {prefix}")
    description = CODES[name].get(source, frame)
    if write(name, description, frame) != bits:
        raise InputError("code word", "one that the encoder writes", f"{bits.length} other bits")
    return name, description


def decode(bits: CodeWord, frame: Frame) -> WeightArrays:
    """The weights of a code word."""
    name, description = read(bits, frame)
    return CODES[name].weights(description, frame)


def cheapest(weights: WeightArrays, frame: Frame) -> CodeWord | None:
    """The shortest word that decodes to exactly these weights, of those that are found."""
    best = None
    for name, kind in CODES.items():
        for description in kind.describe(weights, frame):
            try:
                word = write(name, description, frame)
            except DudleyError:  # beyond the ranges that the kind can write
                continue
            shorter = best is None or word.length < best.length
            if shorter and same(kind.weights(description, frame), weights):
                best = word
    return best


def same(a: WeightArrays, b: WeightArrays) -> bool:
    """Equal in every bit."""
    return set(a) == set(b) and all(
        a[n].shape == b[n].shape and a[n].tobytes() == b[n].tobytes() for n in a
    )


def on_grid(W: np.ndarray) -> tuple[float, np.ndarray] | None:
    """(step, levels) with W = step·levels exactly, step as large as can be; none if too fine.

    >>> on_grid(np.array([[0.75, -1.5], [0.0, 3.0]]))
    (0.75, array([[ 1, -2],
           [ 0,  4]]))
    """
    if np.any(np.signbit(W) & (W == 0)):  # no code writes −0
        return None
    values = np.unique(np.abs(W[W != 0]))
    if not len(values):
        return 1.0, np.zeros(W.shape, np.int64)
    if len(values) > COARSEST:  # more than there are levels
        return None
    ratios = [float(x).as_integer_ratio() for x in values]
    bottom = max(b for _, b in ratios)  # powers of two
    tops = [a * (bottom // b) for a, b in ratios]
    unit = math.gcd(*tops)
    if max(tops) // unit > COARSEST:
        return None
    try:
        step = unit / bottom
    except OverflowError:
        return None
    return step, np.rint(W / step).astype(np.int64)

"""Words: bits that decode to a difference θ − θ₀, and nothing else that is not declared.

A word has two bits for the kind, log₂ of the number of declared parts for the part that moves, and
what the kind writes of the moving tensors, each as a matrix Δ (rows × the other sides):

* ``start``: nothing moves (and no part is told)
* ``hashed``: a point of a random subspace (`hashed`)
* ``sparse``: support and levels of every tensor (`codes.kinds.sparse`), for heads, biases, norms
* ``low-rank``: integer factors of every tensor with two sides or more (`codes.kinds.low_rank`)

    θ = θ₀ + c · Δ,      c a power of two next to the size of the tensor at the start (`scale_of`).

c·Δ is exact, the sum is rounded once to float64 and once to the type of the parameter: the same
bits decode to the same model on every machine. Kinds have prefixes of equal length and each code is
prefix-free given what came before, so all words together satisfy Kraft's inequality.

A word that would take unbounded time is refused by its size: sparse and low-rank words are for
tensors of up to 2^18 entries in all, hashed words for any number.

>>> from dudley.core.backend import torch
>>> from dudley.certificates.learners.module_predictor import ModulePredictor
>>> linear = torch.nn.Linear(2, 1, bias=False)
>>> _ = linear.weight.data.copy_(torch.tensor([[1.0, -0.5]]))
>>> space = WordSpace(ModuleStart(ModulePredictor(linear.eval())), levels=(3,), dimensions=(2,))
>>> part = SparsePart("plain", 0.25, np.array([[0, 2]]))
>>> word = space.write("sparse", "*", (part,))
>>> word.length, space.decode(word)["weight"]
(17, array([[ 1.  , -0.25]]))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from dudley.certificates.around.hashed import Hashed
from dudley.certificates.around.start import ModuleStart, scale_of
from dudley.certificates.codes.base import Frame
from dudley.certificates.codes.interval import CodeWord, Reader, Writer
from dudley.certificates.codes.kinds.low_rank import LowRankCode
from dudley.certificates.codes.kinds.sparse import SparseCode, SparsePart as SparsePart
from dudley.core.errors import InputError

LARGEST = 1 << 18  # entries that a word may describe one by one


class DifferenceCode(Protocol):
    """What a kind must do: a `codes.base.ModelCode` does."""

    def weights(self, description: Any, frame: Frame) -> dict[str, np.ndarray]: ...

    def put(self, out: Writer, description: Any, frame: Frame) -> None: ...

    def get(self, source: Reader, frame: Frame) -> Any: ...


KINDS: dict[str, Callable[[], DifferenceCode] | None] = {
    "start": None,
    "hashed": Hashed,
    "sparse": SparseCode,
    "low-rank": LowRankCode,
}
ENTRIES = {"hashed": math.inf, "sparse": LARGEST, "low-rank": LARGEST}


@dataclass(frozen=True, eq=False)
class WordSpace:
    """What a decoder knows beside the bits: the start, and what was declared."""

    start: ModuleStart
    parts: tuple[str, ...] = ("*",)
    seed: int = 0
    dimensions: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()

    def __post_init__(self):
        if not self.parts or len(set(self.parts)) < len(self.parts):
            raise InputError("parts", "different texts of patterns", list(self.parts))
        for part in self.parts:
            self.start.names(part)
        if not 0 <= self.seed < 1 << 32:
            raise InputError("seed", "a whole number below 2^32", self.seed)
        if not all(1 <= D <= 1 << 16 for D in self.dimensions):
            raise InputError("dimensions", "whole numbers from 1 to 65,536", list(self.dimensions))
        if not all(3 <= L <= 1 << 10 and L % 2 for L in self.levels):
            raise InputError("levels", "odd numbers from 3 to 1,023", list(self.levels))

    def frame(self, kind: str, part: str) -> Frame:
        """The matrices that a kind describes: of low-rank words, those with two sides or more."""
        shapes: list[tuple[str, tuple[int, int]]] = []
        for name in self.start.names(part):
            shape = tuple(self.start.parameters[name].shape)
            if kind != "low-rank" or len(shape) >= 2:
                rows = shape[0] if len(shape) > 1 else 1
                shapes.append((name, (rows, math.prod(shape) // max(rows, 1))))
        frame = Frame(tuple(shapes), None, self.seed, self.dimensions, self.levels)
        if frame.count > ENTRIES[kind]:
            expected, got = f"at most {LARGEST:,} weights that move", f"{frame.count:,}"
            fix = "declare a smaller part, such as the head, or move hashed coordinates"
            raise InputError(f"{kind} word", expected, got, fix)
        return frame

    def write(self, kind: str, part: str = "", description: Any = None) -> CodeWord:
        """The word of a description."""
        out, code = Writer(), KINDS[kind]
        out.uniform(list(KINDS).index(kind), len(KINDS))
        if code is not None:
            out.uniform(self.parts.index(part), len(self.parts))
            code().put(out, description, self.frame(kind, part))
        return out.bits()

    def read(self, word: CodeWord) -> tuple[str, str, Any]:
        """Kind, part and description; a string that the encoder does not write is refused."""
        source = Reader(word)
        kind = list(KINDS)[source.uniform(len(KINDS))]
        part, description, code = "", None, KINDS[kind]
        if code is not None:
            part = self.parts[source.uniform(len(self.parts))]
            description = code().get(source, self.frame(kind, part))
        if self.write(kind, part, description) != word:
            raise InputError("code word", "one that the encoder writes", f"{word.length} bits")
        return kind, part, description

    def decode(self, word: CodeWord) -> dict[str, np.ndarray]:
        """θ of the tensors that a word moves."""
        kind, part, description = self.read(word)
        return self.moved(kind, part, description)

    def moved(self, kind: str, part: str, description: Any) -> dict[str, np.ndarray]:
        """θ of a description."""
        code = KINDS[kind]
        if code is None:
            return {}
        made, Δ = {}, code().weights(description, self.frame(kind, part))
        for name in Δ:
            θ0 = self.start.arrays((name,))[name]
            made[name] = θ0 + self.scales[name] * Δ[name].reshape(θ0.shape)
        return made

    @cached_property
    def scales(self) -> dict[str, float]:
        """c of every parameter."""
        return {name: scale_of(self.start.arrays((name,))[name]) for name in self.start.parameters}

"""A language model as its code word: an architecture, and the bits that decode to its weights.

The word is one of `dudley.certificates.codes`: levels of every matrix (*plain*, *sparse*), or a
point of a random subspace with the seed, D and L fixed before the data, directly or through factors
of a rank (*subspace*; LoRA in a subspace is SubLoRA). The weights are what the word decodes to, so
the price is the length of the model's file.

>>> gpt = Gpt(V=32, T=8, d=4, heads=2, window=2, width=4)
>>> model = Coded.of(gpt, {name: np.zeros(shape) for name, shape in gpt.shapes.items()})
>>> model.word.length, model.sha256[:8]
(11, '...')
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dudley.certificates.codes.base import Frame, cheapest, decode, read
from dudley.certificates.codes.interval import CodeWord
from dudley.certificates.methods.language.gpt import Gpt
from dudley.core.errors import InputError


@dataclass(frozen=True)
class Coded:
    """A Transformer given by its code word; seed, dimensions and levels are those of subspaces."""

    gpt: Gpt
    word: CodeWord
    seed: int = 0
    dimensions: tuple[int, ...] = ()
    levels: tuple[int, ...] = ()

    def __post_init__(self):
        for name, least, most in (("dimensions", 1, 1 << 14), ("levels", 3, 1 << 15)):
            numbers = getattr(self, name)
            if not all(type(number) is int and least <= number <= most for number in numbers):
                raise InputError(name, f"whole numbers from {least} to {most}", numbers)
        if type(self.seed) is not int or not 0 <= self.seed < 1 << 32:
            raise InputError("seed", "a whole number below 2^32", self.seed)

    @classmethod
    def of(cls, gpt: Gpt, weights: dict[str, np.ndarray]) -> Coded:
        """The shortest word found for weights on grids of short steps."""
        word = cheapest(weights, Frame(tuple(gpt.shapes.items())))
        if word is None:
            expected = "multiples of a short step, matrix by matrix"
            raise InputError("weights", expected, "others", "train with language.fit")
        return cls(gpt, word)

    @property
    def frame(self) -> Frame:
        """What the decoder knows beside the word."""
        return Frame(tuple(self.gpt.shapes.items()), None, self.seed, self.dimensions, self.levels)

    @cached_property
    def weights(self) -> dict[str, np.ndarray]:
        return decode(self.word, self.frame)

    @cached_property
    def kind(self) -> str:
        """Which code it is."""
        return read(self.word, self.frame)[0]

    @cached_property
    def sha256(self) -> str:
        """Of the architecture and the word: what the draw of evaluated documents is seeded by."""
        parts = [self.gpt.to_json(), self.seed, self.dimensions, self.levels, self.word.to_json()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

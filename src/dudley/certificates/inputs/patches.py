"""Patches of pictures, as vision transformers cut them: the pixels of a patch are a row.

A picture of C channels, (C, height, width), is cut into squares of side×side pixels, row by row;
a row of the encoding holds a square's pixels, channel by channel. ``first`` puts a row of zeros
before them, whose position holds what a trained [CLS] row is. Rows longer than R are scaled back to
R: that is part of the certified model. Pixels are taken as they are given: scaled and shifted as
the checkpoint's image processor does.

>>> patches = Patches(channels=1, height=2, width=4, side=2, R=64.0)
>>> patches.rows(np.arange(8.0).reshape(1, 2, 4))[0].astype(int)
array([[0, 0, 0, 0],
       [0, 1, 4, 5],
       [2, 3, 6, 7]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dudley.certificates.encodings import ENCODINGS, Encoding, Rows, single
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError
from dudley.networks.embeddings import Tokens


@ENCODINGS.register("patches")
@dataclass(frozen=True)
class Patches(Encoding):
    """Pictures (n, C, height, width), or grey ones (n, height, width) ↦ a row for every patch."""

    channels: int
    height: int
    width: int
    side: int
    R: float
    first: bool = True
    name: ClassVar[str] = "patches"

    def __post_init__(self):
        for name in ("channels", "height", "width", "side"):
            size_of(name, getattr(self, name))
        if radius_of("R", self.R) == 0:
            raise InputError("R", "a radius > 0", self.R)
        if self.height % self.side or self.width % self.side:
            expected = f"a divisor of {self.height} and {self.width}"
            raise InputError("side of a patch", expected, self.side)

    @property
    def count(self) -> int:
        """The number of patches."""
        return (self.height // self.side) * (self.width // self.side)

    @property
    def d(self) -> int:
        """The numbers in a patch."""
        return self.channels * self.side**2

    @property
    def inputs(self) -> Tokens:
        return Tokens(self.R, self.count + self.first, self.d)

    def rows(self, X: np.ndarray) -> np.ndarray:
        whole = X[:, None] if X.ndim == 3 else X
        shape = self.channels, self.height, self.width
        if whole.shape[1:] != shape:
            raise InputError("X", f"pictures of shape (n, {', '.join(map(str, shape))})", X.shape)
        high, wide, p = self.height // self.side, self.width // self.side, self.side
        cut = whole.astype(np.float64).reshape(len(X), self.channels, high, p, wide, p)
        rows = cut.transpose(0, 2, 4, 1, 3, 5).reshape(len(X), self.count, self.d)
        if self.first:
            rows = np.concatenate([np.zeros((len(X), 1, self.d)), rows], axis=1)
        return Rows(rows.shape[1], self.d, self.R).rows(rows)

    def content(self, X: np.ndarray) -> np.ndarray:
        return single(self.rows, X)

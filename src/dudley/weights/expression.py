"""Matrices as expressions in stored tensors: which one, transposed or not, which columns.

>>> Piece("h.0.attn.c_attn.weight", "in-out", (0, 8)).text
'h.0.attn.c_attn.weight[:, 0:8]'
>>> Piece("qkv", "in-out", (4, 8), 12).text
'qkv[:, 4:8 of every 12]'
>>> Piece("positions", "in-out", start=2).text
'positions[2:]'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dudley.core.errors import InputError

Load = Callable[[str], object]


def shape_of(stored: str, shape: tuple[int, ...], name: str) -> tuple[int, int]:
    """The shape in×out of a stored tensor."""
    if stored == "row" and _flat(shape):
        return 1, math.prod(shape)
    if stored == "column" and _flat(shape):
        return math.prod(shape), 1
    if stored == "patches" and len(shape) >= 2:
        return math.prod(shape[1:]), shape[0]
    if stored == "in-out" and len(shape) == 3 and shape[1] == 1:  # positions of (T, batch, d)
        return shape[0], shape[2]
    if stored in ("out-in", "in-out") and len(shape) >= 2 and math.prod(shape[:-2]) == 1:
        a, b = shape[-2:]
        return (b, a) if stored == "out-in" else (a, b)
    raise InputError(f"tensor {name}", f"a shape that can be read as {stored}", list(shape))


def _flat(shape: tuple[int, ...]) -> bool:
    """At most one side is longer than one."""
    return bool(shape) and sum(side != 1 for side in shape) <= 1 and math.prod(shape) > 0


@dataclass(frozen=True)
class Piece:
    """A stored tensor, read as in×out; from row ``start``; some columns, of every ``stride``."""

    tensor: str
    stored: str
    columns: tuple[int, int] | None = None
    stride: int | None = None
    plus: float = 0.0  # what the network adds to every entry
    start: int = 0

    def load(self, load: Load):
        """The matrix itself: a view in the stored precision."""
        whole = load(self.tensor)
        shape = shape_of(self.stored, tuple(whole.shape), self.tensor)  # pyright: ignore
        if self.stored in ("out-in", "patches"):
            W = whole.reshape(shape[1], shape[0]).T  # pyright: ignore
        else:
            W = whole.reshape(shape)  # pyright: ignore
        if self.plus:
            W = W.double() + self.plus
        W = W[self.start :]
        if self.columns is None:
            return W
        start, stop = self.columns
        if self.stride is None:
            return W[:, start:stop]
        parts = W.reshape(shape[0], -1, self.stride)[:, :, start:stop]
        return parts.reshape(shape[0], -1)

    @property
    def text(self) -> str:
        turned = ".T" if self.stored in ("out-in", "patches") else ""
        turned += f" + {self.plus:g}" if self.plus else ""
        turned += f"[{self.start}:]" if self.start else ""
        if self.columns is None:
            return f"{self.tensor}{turned}"
        every = "" if self.stride is None else f" of every {self.stride}"
        part = f"[:, {self.columns[0]}:{self.columns[1]}{every}]"
        return f"{self.tensor}{turned}{part}"


@dataclass(frozen=True)
class Matrix:
    """A role, the layer and head it belongs to, and the pieces it is made of, side by side.

    Pieces of W_c (one per head) stand one below the other.
    """

    role: str
    layer: int | None
    head: int | None
    pieces: tuple[Piece, ...]
    shape: tuple[int, int]
    dtype: str = ""

    def load(self, load: Load):
        if len(self.pieces) == 1:
            return self.pieces[0].load(load)
        import torch

        parts = [piece.load(load) for piece in self.pieces]
        return torch.cat(parts, dim=0 if self.role == "W_c" else 1)

    @property
    def tensors(self) -> tuple[str, ...]:
        return tuple(piece.tensor for piece in self.pieces)

    @property
    def text(self) -> str:
        return " | ".join(piece.text for piece in self.pieces)

"""The causal Transformer that is certified: one forward for numpy (the reference) and torch.

A symbol is embedded by a row of E. Each block adds attention over the last ``window`` symbols, in
``heads`` heads, and a two-layer ReLU network, both reading the stream scaled to root mean square 1:

    x ← x + O · heads,   head:  softmax_o( q_t·k_{t−o}/√k + 4 r_o ) over o = 0, …, window − 1
    x ← x + B · relu(A · x)
    logits = ½ E · x + 4 b,  with the same E

Before the first symbol stand zero keys and values; the first prediction reads the end sign. Arrays
are features first, (d, T·n), so that every reduction runs over the first axis. The reference is
float64 numpy: sums run in the order of ``numpy.matmul`` and ``numpy.sum`` on that layout.

>>> gpt = Gpt(V=32, T=8, d=8, heads=2, window=3, width=16, layers=1)
>>> sum(m * n for m, n in gpt.shapes.values())
806
>>> W = {name: np.zeros(shape) for name, shape in gpt.shapes.items()}
>>> gpt.bits(W, np.array([[3, 2, 0, 0, 0, 0, 0, 0]], np.uint8), np.array([3]))    # 3 log₂ 32
array([15.])
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.core.arrays import namespace
from dudley.core.constraint import size_of
from dudley.core.errors import InputError

EPSILON = 1e-6  # added to the mean square
GAIN = 4.0  # of the biases b and r
TOGETHER = 128  # documents of the reference forward at once


@dataclass(frozen=True)
class Gpt:
    """The architecture: declared before the data."""

    V: int
    T: int
    d: int = 16
    heads: int = 4
    window: int = 8
    width: int = 64
    layers: int = 1

    def __post_init__(self):
        for field in dataclasses.fields(self):
            size_of(field.name, getattr(self, field.name))
        if self.d % self.heads:
            raise InputError("d", f"a multiple of the {self.heads} heads", self.d)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dataclasses.asdict(self)

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Of every matrix, rows = inputs."""
        d, shapes = self.d, {"E": (self.V, self.d), "b": (self.V, 1)}
        for i in range(self.layers):
            shapes |= {f"{i}.{name}": (d, d) for name in "QKVO"}
            shapes[f"{i}.r"] = (self.heads, self.window)
            shapes |= {f"{i}.A": (d, self.width), f"{i}.B": (self.width, d)}
        return shapes

    def logits(self, W: dict[str, Any], codes):
        """(V, T, n) for documents (n, T) of the kind of W."""
        E = W["E"]
        before = codes.T * 1  # (T, n)
        before[1:], before[:1] = codes.T[:-1], 0
        x = E.T @ self.one_hot(before, E)  # (d, T·n)
        for i in range(self.layers):
            layer = {name: W[f"{i}.{name}"] for name in "QKVOrAB"}
            x = x + layer["O"].T @ self._attention(layer, _scale_columns(x), codes.shape[0])
            hidden = layer["A"].T @ _scale_columns(x)
            x = x + layer["B"].T @ (hidden * (hidden > 0))
        z = 0.5 * (E @ _scale_columns(x)) + GAIN * W["b"]
        return z.reshape(self.V, self.T, -1)

    def _attention(self, W, x, n: int):
        """(d, T·n): what the heads read from the last ``window`` places."""
        xp, H, w, N = namespace(x), self.heads, self.window, x.shape[1]
        q, pad = W["Q"].T @ x, 0.0 * x[:, :1] * xp.ones((1, (w - 1) * n), dtype=x.dtype)
        k = xp.concatenate([pad, W["K"].T @ x], 1)
        v = xp.concatenate([pad, W["V"].T @ x], 1)
        back = [slice((w - 1 - o) * n, (w - 1 - o) * n + N) for o in range(w)]
        size = math.sqrt(self.d // H)
        scores = [
            (q * k[:, back[o]]).reshape(H, -1, N).sum(1) / size + GAIN * W["r"][:, o : o + 1]
            for o in range(w)
        ]
        e = _exponentials(xp.stack(scores))  # (w, H, N)
        mixed = sum(e[o][:, None] * v[:, back[o]].reshape(H, -1, N) for o in range(w))
        return (mixed / e.sum(0)[:, None]).reshape(self.d, N)

    def losses(self, W: dict[str, Any], codes):
        """−log₂ of the probability of each symbol, (T, n)."""
        z = self.logits(W, codes)
        xp, target = namespace(z), self.one_hot(codes.T, z).reshape(z.shape)
        top = _largest(z)
        return (top + xp.log(xp.exp(z - top).sum(0)) - (z * target).sum(0)) / math.log(2)

    def bits(self, W: dict[str, np.ndarray], codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Bits of each document in all, float64: the reference."""
        parts = []
        for i in range(0, len(codes), TOGETHER):
            some = codes[i : i + TOGETHER].astype(np.int64)
            inside = np.arange(self.T)[:, None] < lengths[i : i + TOGETHER]
            parts.append((self.losses(W, some) * inside).sum(0))
        return np.concatenate(parts)

    def one_hot(self, codes, like):
        """(V, number of codes), of the kind of ``like``."""
        xp = namespace(like)
        return (xp.arange(self.V)[:, None] == codes.reshape(1, -1)) * xp.ones(
            (1, 1), dtype=like.dtype
        )


def _scale_columns(x):
    """Scale every column to root mean square 1."""
    return x / namespace(x).sqrt((x * x).mean(0) + EPSILON)


def _largest(z):
    """The maximum along the first axis, as a constant: softmax does not change with it."""
    return z.max(0) if namespace(z).__name__ == "numpy" else z.detach().amax(0)


def _exponentials(z):
    return namespace(z).exp(z - _largest(z))

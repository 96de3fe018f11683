"""The plain code: every weight on a grid, matrix by matrix.

Step, largest level q (gamma of q + 1), and the levels −q, …, q of all entries (`atoms.Levels`:
log₂ of the number of compositions and of the strings with that composition).

>>> from dudley.certificates.codes.base import Frame, decode, write
>>> frame, W = Frame((("W", (1, 4)),)), np.array([[0.5, -0.5, 0.5, 0.0]])
>>> bits = write("plain", Plain().describe({"W": W}, frame)[0], frame)
>>> bits.length
17
>>> decode(bits, frame)["W"]
array([[ 0.5, -0.5,  0.5,  0. ]])
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from dudley.certificates.codes.atoms import GAMMA, STEP, Levels
from dudley.certificates.codes.base import COARSEST, ModelCode, code, on_grid
from dudley.certificates.codes.interval import Reader, Writer
from dudley.core.errors import InputError


def put_levels(out: Writer, N: np.ndarray) -> None:
    """Write integers: q = max|N|, then the letters N + q."""
    q = int(np.abs(N).max()) if N.size else 0
    GAMMA.put(out, q + 1)
    if q:
        Levels(N.size, 2 * q + 1).put(out, N + q)


def get_levels(source: Reader, shape: tuple[int, int]) -> np.ndarray:
    """Read them."""
    q, size = GAMMA.get(source) - 1, math.prod(shape)
    if q > COARSEST:
        raise InputError("code word", f"levels up to {COARSEST}", q)
    if q == 0:
        return np.zeros(shape, np.int64)
    return (Levels(size, 2 * q + 1).get(source) - q).reshape(shape)


@code
class Plain(ModelCode):
    """Levels of all weights."""

    name: ClassVar[str] = "plain"
    prefix: ClassVar[int] = 3

    def describe(self, weights, frame):
        grids = [on_grid(weights[name]) for name, _ in frame.shapes]
        return [] if None in grids else [grids]

    def weights(self, description, frame):
        return {
            name: step * N.astype(np.float64)
            for (name, _), (step, N) in zip(frame.shapes, description, strict=True)
        }

    def put(self, out, description, frame):
        for step, N in description:
            put_levels(out, N)
            if N.any():
                STEP.put(out, step)

    def get(self, source, frame):
        grids = []
        for _, shape in frame.shapes:
            N = get_levels(source, shape)
            grids.append((STEP.get(source) if N.any() else 1.0, N))
        return grids

"""Blocks of a GGUF file, turned into the real numbers that they stand for.

Blocks of 32 numbers share a scale d and, in the _1 types, an offset m, both float16:

    Q8_0   d, 32 signed bytes q                      x = d q
    Q4_0   d, 16 bytes                               x = d (q − 8)
    Q4_1   d, m, 16 bytes                            x = d q + m
    Q5_0   d, 32 fifth bits, 16 bytes                x = d (q − 16)
    Q5_1   d, m, 32 fifth bits, 16 bytes             x = d q + m

The low half of byte j is number j, and the high half number j + 16; fifth bit i is that of
number i.

All of it is exact in float64: d and m are whole multiples of 2^−24 below 2^16 in absolute value,
and |q| ≤ 128, so d q + m is a whole multiple of 2^−24 below 2^24: it has at most 48 bits.

>>> scale = np.array([0.5], np.float16).tobytes()
>>> numbers("Q8_0", np.frombuffer(scale + bytes(range(32)), np.uint8))[:4]
array([0. , 0.5, 1. , 1.5])
"""

from __future__ import annotations

import numpy as np

PLAIN = {"float32": "<f4", "float16": "<f2", "float64": "<f8"}
BLOCKS = {"Q8_0": 34, "Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q5_1": 24}


def numbers(dtype: str, raw: np.ndarray) -> np.ndarray:
    """The numbers of whole blocks of bytes, in float64."""
    blocks = raw.reshape(-1, BLOCKS[dtype])
    d, rest = _half(blocks, 0), blocks[:, 2:]
    if dtype == "Q8_0":
        return (d * rest.view(np.int8)).ravel()
    m = 0.0
    if dtype.endswith("_1"):
        m, rest = _half(blocks, 2), rest[:, 2:]
    high: np.ndarray | int = 0
    if dtype.startswith("Q5"):
        high = np.unpackbits(rest[:, :4], axis=1, bitorder="little").astype(np.int16) << 4
        rest = rest[:, 4:]
    q = np.concatenate([rest & 15, rest >> 4], axis=1).astype(np.int16) + high
    shift = {"Q4_0": 8, "Q5_0": 16}.get(dtype, 0)
    return (d * (q - shift) + m).ravel()


def _half(blocks: np.ndarray, at: int) -> np.ndarray:
    """The float16 at a place of each block, as a column of float64."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float64)

"""Blocks of a GGUF file, turned into the real numbers that they stand for.

Blocks of 32 numbers share a scale d and, in the _1 types, an offset m, both float16:

    Q8_0   d, 32 signed bytes q                      x = d q
    Q4_0   d, 16 bytes                               x = d (q − 8)
    Q4_1   d, m, 16 bytes                            x = d q + m
    Q5_0   d, 32 fifth bits, 16 bytes                x = d (q − 16)
    Q5_1   d, m, 32 fifth bits, 16 bytes             x = d q + m

The low half of byte j is number j, and the high half number j + 16; fifth bit i is that of
number i. A block of Q6_K has 256 numbers, two runs of 128, with 16 signed scales s:

    Q6_K   128 bytes, 64 bytes of high bits, 16 s, d    x = d s (q − 32)

Number 32·r + l of a run (r < 4, l < 32) has its low four bits in byte 32·(r mod 2) + l of the
run's 64, in the low half where r < 2; its high two bits are bits 2r and 2r + 1 of byte l of the
run's 32; and every 16 numbers have a scale of their own.

All of it is exact in float64: d and m are whole multiples of 2^−24 below 2^16 in absolute value,
and |q| ≤ 128, so d q + m is a whole multiple of 2^−24 below 2^24: it has at most 48 bits. In Q6_K
|s (q − 32)| ≤ 2^12, and d has 11 bits: 23 bits.

>>> scale = np.array([0.5], np.float16).tobytes()
>>> numbers("Q8_0", np.frombuffer(scale + bytes(range(32)), np.uint8))[:4]
array([0. , 0.5, 1. , 1.5])
"""

from __future__ import annotations

import numpy as np

PLAIN = {"float32": "<f4", "float16": "<f2", "float64": "<f8"}
BLOCKS = {"Q8_0": 34, "Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q5_1": 24, "Q6_K": 210}


def numbers(dtype: str, raw: np.ndarray) -> np.ndarray:
    """The numbers of whole blocks of bytes, in float64."""
    blocks = raw.reshape(-1, BLOCKS[dtype])
    if dtype == "Q6_K":
        return _sixes(blocks)
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


def _sixes(blocks: np.ndarray) -> np.ndarray:
    """The numbers of blocks of Q6_K."""
    count = len(blocks)
    low = blocks[:, :128].reshape(count, 2, 1, 2, 32)  # run, half of the byte, r mod 2, l
    low = np.concatenate([low & 15, low >> 4], axis=2).reshape(count, 2, 4, 32)
    high = blocks[:, 128:192].reshape(count, 2, 1, 32)
    high = high >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    q = (low | high << 4).astype(np.int16) - 32
    s = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8).astype(np.float64)
    scale = _half(blocks, 208) * s
    return (scale[:, :, None] * q.reshape(count, 16, 16)).ravel()


def _half(blocks: np.ndarray, at: int) -> np.ndarray:
    """The float16 at a place of each block, as a column of float64."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float64)

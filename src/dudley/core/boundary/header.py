"""The header of a safetensors file, checked before a tensor is read.

A file is 8 bytes (the length N of the header, little endian), N bytes of JSON and then the data:
tensor ↦ {dtype, shape, data_offsets: [begin, end]}, offsets counted from the end of the header.
Each tensor must have exactly the bytes that its shape and dtype ask for, and together they must
fill the data from its first byte to the end of the file, without overlap and without a gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dudley.core.boundary import documents, limits
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal

# dtype ↦ its bits and torch's name for it; None where torch has no such elements.
DTYPES: dict[str, tuple[int, str | None]] = {
    "F64": (64, "float64"),
    "F32": (32, "float32"),
    "F16": (16, "float16"),
    "BF16": (16, "bfloat16"),
    "F8_E4M3": (8, "float8_e4m3fn"),
    "F8_E5M2": (8, "float8_e5m2"),
    "F8_E4M3FNUZ": (8, "float8_e4m3fnuz"),
    "F8_E5M2FNUZ": (8, "float8_e5m2fnuz"),
    "F8_E8M0": (8, None),
    "F6_E2M3": (6, None),
    "F6_E3M2": (6, None),
    "F4": (4, None),
    "I64": (64, "int64"),
    "I32": (32, "int32"),
    "I16": (16, "int16"),
    "I8": (8, "int8"),
    "U64": (64, "uint64"),
    "U32": (32, "uint32"),
    "U16": (16, "uint16"),
    "U8": (8, "uint8"),
    "BOOL": (8, "bool"),
    "C64": (64, "complex64"),
}
TORCH = (b"PK\3\4", b"\x80\2", b"\x80\4")  # a zip, a pickle
CONVERT = (
    "convert it: safetensors.torch.save_file(torch.load(FILE, weights_only=True), "
    "'model.safetensors')"
)


@dataclass(frozen=True)
class Entry:
    """One tensor of the header; `dtype` is torch's name, or safetensors' where torch has none."""

    shape: tuple[int, ...]
    dtype: str
    readable: bool
    begin: int
    end: int


@dataclass(frozen=True)
class Header:
    """Name ↦ entry of every tensor, and the texts beside them."""

    entries: dict[str, Entry]
    metadata: dict[str, str]


def read_header(path: Path) -> Header:
    """The header of a file, or a refusal that says what is wrong with it."""
    size = regular(path).stat().st_size
    try:
        with path.open("rb") as file:
            first = file.read(8)
            if path.suffix == ".npz":
                fix = "weights go into a .safetensors file, data into an .npz"
                raise refusal(path, "a .safetensors file", "an .npz file", fix=fix)
            if first.startswith(TORCH):
                raise refusal(path, "a .safetensors file", "a file of torch.save", fix=CONVERT)
            length = int.from_bytes(first, "little")
            if size < 8 or length > size - 8:
                expected = "a header length within the file"
                raise refusal(path, expected, f"{length} for a file of {size} bytes")
            if length > limits.HEADER_BYTES:
                raise refusal(path, f"a header of at most {limits.HEADER_BYTES} bytes", f"{length}")
            raw = file.read(length)
    except OSError as error:
        raise refusal(path, "a readable file", error.strerror or error) from None
    if not raw.startswith(b"{"):
        raise refusal(path, "a safetensors header, which starts with {", repr(raw[:16]))
    document = documents.parse(raw, path)
    metadata = document.pop("__metadata__", {})
    _check_metadata(path, metadata)
    entries = {name: _entry(path, name, stated) for name, stated in document.items()}
    _check_layout(path, entries, size - 8 - length)
    return Header(entries, metadata)


def _check_metadata(path: Path, metadata: Any) -> None:
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise refusal(path, "__metadata__ of texts", metadata)


def _entry(path: Path, name: str, stated: Any) -> Entry:
    if not isinstance(stated, dict) or set(stated) != {"dtype", "shape", "data_offsets"}:
        raise refusal(path, "dtype, shape and data_offsets alone", stated, name)
    dtype, shape, offsets = stated["dtype"], stated["shape"], stated["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise refusal(path, f"a dtype of {', '.join(DTYPES)}", dtype, name)
    if not _naturals(shape):
        raise refusal(path, "a shape of numbers ≥ 0", shape, name)
    if not _naturals(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise refusal(path, "data_offsets [begin, end] with begin ≤ end", offsets, name)
    bits, known = DTYPES[dtype]
    if math.prod(shape) * bits != 8 * (offsets[1] - offsets[0]):
        got = f"{dtype} {shape} in {offsets[1] - offsets[0]} bytes"
        raise refusal(path, "a shape that fits its bytes", got, name)
    return Entry(tuple(shape), known or dtype, known is not None, offsets[0], offsets[1])


def _naturals(values: Any) -> bool:
    # bool is an int in Python; 2⁶³ keeps the products of a hostile shape small.
    return (
        isinstance(values, list)
        and len(values) <= 64
        and all(type(v) is int and 0 <= v < 2**63 for v in values)
    )


def _check_layout(path: Path, entries: dict[str, Entry], available: int) -> None:
    """The data is covered once, from its first byte to its last."""
    reached = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.end > available:
            got = f"data until byte {entry.end} of {available}"
            raise refusal(path, "data within the file (is it truncated?)", got, name)
        if entry.begin != reached:
            kind = "an overlap with another tensor" if entry.begin < reached else "a gap"
            got = f"{kind} at byte {min(entry.begin, reached)}"
            raise refusal(path, "data right after that of the tensor before", got, name)
        reached = entry.end
    if reached != available:
        raise refusal(path, f"{reached} bytes of data, as in the header", f"{available}")

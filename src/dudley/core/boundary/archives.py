"""Arrays from a stranger's ``.npz``: what the archive says of itself is checked, then unpacked.

An archive is a zip of ``.npy`` members. Its directory must be small and stand at the very end, and
the sizes in it must be small in sum: no member gives more bytes than the directory says. Each
member must be a plain array whose shape and type ask for exactly its bytes. Nothing is unpickled.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from dudley.core.boundary import limits
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

KINDS = "biufUS"  # bool, integers, floats, texts
PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DIRECTORY = 1 << 16  # bytes of the directory of a zip
ENDING = 22  # bytes of its end: PK␅␆, seven numbers, no comment
CHUNK = 1 << 20  # bytes unpacked at once
LOCATOR = 20  # bytes before the end where an archive of more than 4 GiB says so


def arrays(path: Path, names: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """The arrays of the archive, all of them or those of these names."""
    try:
        with regular(path).open("rb") as file:
            _expect_directory(path, file)
            with zipfile.ZipFile(file) as archive:
                members = _members(path, archive)
                wanted = [name for name in members if names is None or name in names]
                return {name: _array(path, archive, members[name]) for name in wanted}
    except InputError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen kinds on damaged input
        raise refusal(path, "a readable .npz of plain arrays", error) from None


def _expect_directory(path: Path, file: IO[bytes]) -> None:
    """A directory of ordinary size, before zipfile makes an object of each of its entries."""
    size = file.seek(0, 2)
    file.seek(max(0, size - ENDING - LOCATOR))
    tail = file.read()
    end, locator = tail[-ENDING:], tail[:-ENDING]
    if not end.startswith(b"PK\5\6"):
        fix = "np.savez writes one"
        raise refusal(path, "a readable .npz of plain arrays", "no archive", fix=fix)
    if int.from_bytes(end[12:16], "little") > DIRECTORY or locator.startswith(b"PK\6\7"):
        raise refusal(path, f"an archive of at most {limits.MEMBERS} arrays", "a larger one")
    file.seek(0)


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Members by the names of their arrays."""
    members = archive.infolist()
    if len(members) > limits.MEMBERS:
        raise refusal(path, f"at most {limits.MEMBERS} arrays", len(members))
    total, size = sum(member.file_size for member in members), path.stat().st_size
    most = min(limits.UNPACKED, max(limits.ALWAYS_UNPACKED, limits.SWELLING * size))
    if total > most:
        expected = f"at most {most >> 20} MiB unpacked of a file of {size:,} bytes"
        raise refusal(path, expected, f"{total:,} bytes", fix="np.savez stores arrays as they are")
    by_name = {}
    for member in members:
        name = member.filename.removesuffix(".npy")
        if name == member.filename or name in by_name:
            raise refusal(path, "members NAME.npy, each once", repr(member.filename))
        if member.compress_type not in PLAIN or member.flag_bits & 1:
            raise refusal(path, "members stored or deflated, not encrypted", repr(name))
        by_name[name] = member
    return by_name


def _array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """One member, if its header asks for the bytes that it has."""
    place = f"{path}: {member.filename}"
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise refusal(place, "an array of version 1.0 or 2.0", version)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(file)
        if dtype.kind not in KINDS or dtype.itemsize == 0 or dtype.subdtype is not None:
            raise refusal(place, "plain numbers or texts, nothing pickled", dtype)
        count, rest = math.prod(shape), member.file_size - file.tell()
        if any(side < 0 for side in shape) or count * dtype.itemsize != rest:
            got = f"{dtype} of shape {shape} in {rest:,} bytes"
            raise refusal(place, "a shape that fits its bytes", got)
        data, filled = np.empty(rest, np.uint8), 0
        while piece := file.read(CHUNK):
            data[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
            filled += len(piece)
        if filled != rest:
            raise refusal(place, f"{rest:,} bytes of data", f"{filled:,}")
    if dtype.kind == "b" and data.max(initial=0) > 1:  # 255 ways to write true, all different bytes
        raise refusal(place, "truth values written as 0 and 1", f"a byte {data.max()}")
    return data.view(dtype).reshape(shape, order="F" if fortran else "C")

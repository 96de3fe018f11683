"""The journal: an append-only file with the loss of every unit, on the disk before the update.

After a first line with the schema come frames. Each is a kind (one byte), the number of bytes of
its content (four), the content, and the SHA-256 of all that with the hash of the frame before: a
chain, so that the last hash commits to all of the file. Kinds are

    D   what was declared, as JSON: the first frame
    L   losses: step, number of units, which of sizes and places follow, first place; places,
        losses (float64), sizes
    T   the same for units that a model has learnt from and whose loss is lost: they count B
    C   a checkpoint: its number, name and hash, and the number of units before it, as JSON
    A   losses again: those of a checkpoint on units after its own block; its number goes before

A frame is handed to the system at once and, unless ``sync`` seconds are declared, flushed to the
disk (fsync) before `append` returns. So no update can come before the loss that it would spoil. A
kill leaves at most one frame that is cut off. It is removed when the file is opened again, and
nothing that was trained on can be in it. With ``sync`` > 0 the disk is waited for so often only: a
kill still loses nothing, but a power cut may lose the last seconds. Their units then count as lost
(`Prequential.resume`), and `sync` before a model is saved leaves none. A frame that is
whole but has another hash was changed by someone, and the file is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dudley.certificates.methods.prequential.declared import MOST_UNITS
from dudley.core.boundary import documents
from dudley.core.boundary.damage import DISK
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

MAGIC = b"dudley.one-pass/1\n"
HEAD = struct.Struct("<cI")
LOSSES = struct.Struct("<QIBQ")  # step, units, flags, first place
SIZES, PLACES = 1, 2  # flags
HASH = 32
MOST_BYTES = 1 << 31  # of a journal
MOST_FRAME = 1 << 28
MOST_JSON = 1 << 16


@dataclass(frozen=True)
class UnitBlock:
    """Units that one call logged: their places in the order, losses, and sizes or none."""

    step: int
    places: np.ndarray
    losses: np.ndarray
    sizes: np.ndarray | None

    def to_bytes(self) -> bytes:
        """The content of a frame."""
        n, first = len(self.places), int(self.places[0])
        plain = bool((self.places == first + np.arange(n)).all())
        flags = SIZES * (self.sizes is not None) | PLACES * (not plain)
        parts = [LOSSES.pack(self.step, n, flags, first)]
        parts += [] if plain else [self.places.astype("<u8").tobytes()]
        parts.append(self.losses.astype("<f8").tobytes())
        parts += [] if self.sizes is None else [self.sizes.astype("<u8").tobytes()]
        return b"".join(parts)

    @staticmethod
    def from_bytes(content: bytes, file: Path) -> UnitBlock:
        """The block of a frame; what does not fit its number of bytes is refused."""
        if len(content) < LOSSES.size:
            raise refusal(file, "a frame of losses", f"{len(content)} bytes")
        step, n, flags, first = LOSSES.unpack_from(content)
        columns = 1 + bool(flags & SIZES) + bool(flags & PLACES)
        fits = len(content) == LOSSES.size + 8 * n * columns and flags <= SIZES | PLACES
        if not fits or not 1 <= n <= MOST_UNITS or max(first, step) >= 1 << 53:
            raise refusal(file, "a frame of losses", f"{n} units in {len(content)} bytes")
        arrays = [
            np.frombuffer(content, kind, n, LOSSES.size + 8 * n * i)
            for i, kind in enumerate(_columns(flags))
        ]
        places = arrays.pop(0) if flags & PLACES else first + np.arange(n)
        if places.max() >= MOST_UNITS:
            raise refusal(file, f"places below {MOST_UNITS:,}", places.max())
        sizes = arrays[1].astype(np.int64) if flags & SIZES else None
        losses = arrays[0].astype(np.float64)
        if not (losses >= 0).all():
            raise refusal(file, "losses ≥ 0", "a negative one, or none at all")
        return UnitBlock(step, places.astype(np.int64), losses, sizes)


def _columns(flags: int) -> list[str]:
    return ["<u8"] * bool(flags & PLACES) + ["<f8"] + ["<u8"] * bool(flags & SIZES)


class PassJournal:
    """Final: a journal that is open for more."""

    def __init__(self, path: Path, header: dict[str, Any], sync: float = 0.0):
        self.path, self.seconds, self.flushed = path, sync, -math.inf
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.file: BinaryIO = path.open("a+b")
        except OSError as error:
            raise _disk(path, error) from None
        try:
            _lock(self.file, path)
            reader = FrameReader(path, torn=True)
            first = None
            for frame in reader:
                first = first or frame
            self.earlier = first is not None  # does an earlier run go on?
            if first is not None:
                self._expect_same(first, header)
            self.chain = reader.chain
            self.file.truncate(reader.end if self.earlier else 0)
            if not self.earlier:
                self.file.write(MAGIC)
                self.append(b"D", to_text(header))
                _sync_folder(path.parent)
        except OSError as error:
            self.file.close()
            raise _disk(path, error) from None
        except BaseException:
            self.file.close()
            raise

    def _expect_same(self, first: tuple[bytes, bytes], header: dict[str, Any]) -> None:
        if first != (b"D", to_text(header)):
            fix = "a pass goes on as it was declared; take another folder for another one"
            raise InputError(str(self.path), "the same declarations", "others", fix)

    def append(self, kind: bytes, content: bytes) -> None:
        """Write a frame; it is on the disk when this returns."""
        head = HEAD.pack(kind, len(content))
        self.chain = hashlib.sha256(self.chain + head + content).digest()
        try:
            self.file.write(head + content + self.chain)
            self.file.flush()
            if time.monotonic() - self.flushed >= self.seconds:
                self.sync()
        except OSError as error:
            raise _disk(self.path, error) from None

    def sync(self) -> None:
        """Wait until all that was appended is on the disk."""
        os.fsync(self.file.fileno())
        self.flushed = time.monotonic()

    def close(self) -> None:
        """Close the file; all of it is on the disk."""
        if not self.file.closed:
            self.sync()
            self.file.close()


class FrameReader:
    """Final: the frames of a file; ``chain`` and ``end`` say what has been read.

    With ``torn`` a last frame that is cut off is left out, and refused otherwise.
    """

    def __init__(self, path: Path, torn: bool = False):
        self.path, self.torn = path, torn
        self.chain, self.end = hashlib.sha256(MAGIC).digest(), len(MAGIC)

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        try:
            size = self.path.stat().st_size
            if self.torn and size == 0:
                return
            if size > MOST_BYTES:
                raise refusal(self.path, f"a journal of at most {MOST_BYTES:,} bytes", f"{size:,}")
            with regular(self.path).open("rb") as file:
                if (magic := file.read(len(MAGIC))) != MAGIC:
                    if self.torn and MAGIC.startswith(magic):
                        return
                    raise refusal(self.path, "the journal of a pass", "another file")
                yield from self._frames(file, size)
        except OSError as error:
            raise refusal(self.path, "a readable file", error.strerror or error) from None

    def _frames(self, file: BinaryIO, size: int) -> Iterator[tuple[bytes, bytes]]:
        while self.end < size:
            head = file.read(HEAD.size)
            length = HEAD.unpack(head)[1] if len(head) == HEAD.size else 0
            end = self.end + HEAD.size + length + HASH
            if len(head) < HEAD.size or end > size:
                if self.torn:
                    return
                raise refusal(self.path, "whole frames", "a last one that is cut off")
            if length > MOST_FRAME:
                raise refusal(self.path, f"frames of at most {MOST_FRAME:,} bytes", f"{length:,}")
            content, stated = file.read(length), file.read(HASH)
            chain = hashlib.sha256(self.chain + head + content).digest()
            if chain != stated:
                if self.torn and end == size:  # the power went while it was written
                    return
                raise refusal(self.path, "a chain of hashes", f"a change before byte {end:,}")
            self.chain, self.end = chain, end
            yield head[:1], content


def table_of(content: bytes, file: Path) -> dict[str, Any]:
    """The JSON of a frame."""
    if len(content) > MOST_JSON:
        raise refusal(file, f"at most {MOST_JSON:,} bytes of JSON in a frame", f"{len(content):,}")
    return documents.parse(content, file)


def to_text(table: dict[str, Any]) -> bytes:
    """The JSON of a frame, the same for the same table."""
    return json.dumps(table, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()


def _lock(file: BinaryIO, path: Path) -> None:
    """Refuse a journal that another process writes; a kill ends the lock."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fix = "every process of a pass has a rank, and a journal of its own"
        raise InputError(
            str(path), "a journal that no one else writes", "a locked one", fix
        ) from None


def _sync_folder(folder: Path) -> None:
    """Make the name of a new file last, where folders can be flushed."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _disk(path: Path, error: OSError) -> InputError:
    fix = DISK.get(error.errno or 0, "")
    return InputError(str(path), "a place that can be written", error.strerror or error, fix)

"""Files that are what they seem: regular, and inside the folder that names them.

An index file or a folder comes from elsewhere. A shard is therefore a plain file name, and what it
leads to, symbolic links resolved, must lie in the same folder. One layout with links is known and
allowed: the cache of Hugging Face keeps `snapshots/REVISION/NAME` as links into the `blobs` folder
of the same model.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # where there are named pipes


def is_plain(name: str) -> bool:
    """Whether a name is one that a file may get here: letters, digits, dots, lines, not hidden.

    >>> is_plain("model-1.safetensors"), is_plain("../x.json"), is_plain(".profile")
    (True, False, False)
    """
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name) is not None


def expect_named(path: str | os.PathLike, what: str) -> None:
    """Refuse an empty path, which Python takes for the folder it runs in."""
    if not os.fspath(path):
        raise InputError(what, "a path", "an empty text", "is a variable of the shell not set?")


def regular(path: Path, tensor: str | None = None) -> Path:
    """The path, if a regular file is there (no folder, pipe or device).

    `tensor` is the one it was opened for, named in the refusal.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise refusal(path, "a readable file", str(reason).lower(), tensor) from None
    if not stat.S_ISREG(mode):
        got = "a folder" if stat.S_ISDIR(mode) else "a pipe, socket or device"
        raise refusal(path, "a regular file", got, tensor)
    return path


@contextmanager
def opened(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """A file or a pipe to read from; a pipe that nobody writes to is empty, and not waited for."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NONBLOCK)) as file:
        os.set_blocking(file.fileno(), True)
        yield file


def inside(folder: Path, name: str, tensor: str | None = None) -> Path:
    """The regular file `name` of the folder; refuses whatever leads out of it."""
    if not name or name in {".", ".."} or any(c in name for c in "/\\\0"):
        raise refusal(folder, "a plain file name inside the folder", repr(name), tensor)
    path = folder / name
    regular(path, tensor)
    home, target = Path(os.path.realpath(folder)), Path(os.path.realpath(path))
    if target.parent != home and target.parent != _blobs(home):
        raise refusal(path, "a file inside the folder", f"a link to {target}", tensor)
    return path


def _blobs(home: Path) -> Path | None:
    """Where the links of a Hugging Face snapshot may lead, if `home` is one."""
    if home.parent.name != "snapshots":
        return None
    blobs = home.parent.parent / "blobs"
    return blobs if Path(os.path.realpath(blobs)) == blobs else None

"""Files that are what they seem: regular, and inside the folder that names them.

An index file or a folder comes from elsewhere. A shard is therefore a plain file name, and what it
leads to, symbolic links resolved, must lie in the same folder. One layout with links is known and
allowed: the cache of Hugging Face keeps `snapshots/REVISION/NAME` as links into the `blobs` folder
of the same model.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from dudley.measure.readers.refusal import refusal


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

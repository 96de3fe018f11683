"""Files that are whole or absent: written beside their place, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dudley.core.boundary.damage import DISK
from dudley.core.errors import InputError

TEMPORARY = ".dudley-"  # how names of files begin that are not whole yet


def expect_place(path: Path, endings: tuple[str, ...], option: str = "--out") -> None:
    """Refuse a file that could not be written: unknown ending, no such folder, a folder itself."""
    if path.suffix not in endings:
        raise InputError(option, f"a file that ends in {', '.join(endings)}", path.name)
    if not path.parent.is_dir():
        raise InputError(option, "a file in a folder that exists", str(path.parent))
    if path.is_dir():
        raise InputError(option, "a file", f"the folder {path}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(option, "a folder that can be written to", str(path.parent))


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary file that takes the place of ``path`` when all went well, and is gone if not.

    A disk that is full or may not be written is refused with one line.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=TEMPORARY, suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        fix = DISK.get(error.errno or 0, "")
        got = error.strerror or error
        raise InputError(str(path), "a place that can be written", got, fix) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

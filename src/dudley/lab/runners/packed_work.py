"""Work on its way to another process or machine: pickled, with the files to be executed first.

A function of a module is pickled by its name, and the worker imports the module. A file that the
user named (`dudley.core.outside`) is no module that could be imported: the worker executes the file
at the same path. Machines must therefore share it, and its bytes must be those of the driver's.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dudley.core import outside
from dudley.core.errors import InputError
from dudley.lab.runners.worker import Work


@dataclass(frozen=True)
class PackedWork:
    """``files`` holds the path and the sha256 of each file that the user named."""

    pickled: bytes
    files: tuple[tuple[Path, str], ...]

    @staticmethod
    def of(
        work: Work, dumps: Callable[[Work], bytes] = pickle.dumps, expected="a function of a module"
    ) -> PackedWork:
        try:
            pickled = dumps(work)
        except Exception as error:
            raise InputError("work of a run", expected, f"{work!r} ({error})") from None
        return PackedWork(pickled, tuple((path, _digest(path)) for path in outside.executed()))

    def unpack(self) -> Work:
        """The work, in the process that is to do it."""
        # As bytes until now: unpickling imports what the work needs, and its files come first.
        for path, digest in self.files:
            _execute(path, digest)
        return pickle.loads(self.pickled)


def _execute(path: Path, digest: str) -> None:
    from dudley.lab.outside import REGISTRIES

    what, here = f"experiment {path}", platform.node()
    if not path.is_file():
        fix = "keep it where all machines see it, or install it as a package on each"
        raise InputError(what, "the file at the same path on every machine", f"none on {here}", fix)
    if _digest(path) != digest:
        fix = "run the same command again"
        raise InputError(what, "the file that the run began with", f"another on {here}", fix)
    outside.execute(path, "experiment", REGISTRIES)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

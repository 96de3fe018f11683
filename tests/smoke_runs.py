"""Smoke runs of experiments, one of each in a test session, whichever worker asks first."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from dudley.lab.conduct import conduct
from dudley.lab.experiment import EXPERIMENTS, Bench
from dudley.lab.pages.results import Results


@dataclass(frozen=True)
class SmokeRuns:
    """``runs(name)`` is the finished smoke run of an experiment, to be read and never written.

    Workers share the folder ``root``: the first to ask conducts the run while it holds a lock,
    others wait and read. A test that writes takes a copy, ``runs.copy(name, folder)``.
    """

    root: Path

    def __call__(self, name: str) -> Results:
        folder, seal = self.root / EXPERIMENTS[name].name, self.root / f"{name}.sha256"
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not seal.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of a run that failed
                conduct(name, "smoke", folder, Bench(progress=False))
                seal.write_text(digest(folder), encoding="utf-8")
            assert digest(folder) == seal.read_text(encoding="utf-8"), f"a test wrote in {folder}"
        return Results(folder)

    def copy(self, name: str, folder: Path) -> Results:
        """The same in a folder where tests may write, without its stores."""
        left = shutil.ignore_patterns("store")
        return Results(shutil.copytree(self(name).folder, folder, ignore=left, dirs_exist_ok=True))


def digest(folder: Path) -> str:
    """Of the names and the contents of all files but stores, which change when they are read."""
    hasher = hashlib.sha256()
    for path in sorted(path for path in folder.glob("*") if path.is_file()):
        name, content = str(path.relative_to(folder)).encode(), path.read_bytes()
        hasher.update(b"%d %s %d %s" % (len(name), name, len(content), content))
    return hasher.hexdigest()

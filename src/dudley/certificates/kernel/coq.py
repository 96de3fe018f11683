"""Running Coq: one file at a time, in a folder of its own, with a time limit."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dudley.core.errors import InputError

PACKAGES = "coq libcoq-mathcomp-algebra libcoq-mathcomp-algebra-tactics"
GET = f"apt-get install {PACKAGES} (Debian; Coq 8.16 with mathcomp 1.15)"
LIMIT = 600  # seconds a file
CLOSED = "Closed under the global context"
REFUSED = 'has type "true = true"'  # the program answered false where true was claimed


@dataclass(frozen=True)
class Coq:
    """The program ``coqc``, and how many seconds it may take for a file."""

    path: str
    limit: float = LIMIT

    @cached_property
    def version(self) -> str:
        """What it says of itself, such as 8.16.1."""
        answer = self._run(["--print-version"], Path.cwd())
        words = answer.stdout.split()
        return words[0] if words and re.fullmatch(r"[\w.+~-]+", words[0]) else "unknown"

    def compile(self, file: Path, library: Path) -> None:
        """Compile a file of the library; a failure is refused, since Coq lacks what it needs."""
        done = self._run([*_options(library), str(file)], file.parent)
        if done.returncode:
            raise InputError(f"proof {file.name}", "a Coq that accepts it", _last(done.stderr), GET)

    def accepts(self, text: str, library: Path) -> bool:
        """Does the kernel accept the theorem of a file, which must rest on no axiom?"""
        with tempfile.TemporaryDirectory(prefix="dudley-coq-") as folder:
            file = Path(folder) / "certificate.v"
            file.write_text(text, encoding="ascii")
            done = self._run([*_options(library), str(file)], file.parent)
        if done.returncode:
            if REFUSED in " ".join(done.stderr.split()):
                return False
            raise InputError("coqc", "an answer", _last(done.stderr), GET)
        if done.stdout.split() != CLOSED.split():
            raise InputError("theorem", "one without axioms", done.stdout)
        return True

    def _run(self, options: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        command = [self.path, *options]
        try:
            return subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=self.limit
            )
        except subprocess.TimeoutExpired:
            raise InputError("coqc", f"an answer within {self.limit:g} s", "none") from None


def coq() -> Coq:
    """The Coq of this machine, or a refusal that says how to get it."""
    path = shutil.which("coqc")
    if path is None:
        raise InputError("--coq", "the program coqc", "none on PATH", GET)
    return Coq(path)


def _options(library: Path) -> list[str]:
    return ["-q", "-w", "none", "-Q", str(library), "dudley"]


def _last(errors: str) -> str:
    return " ".join(errors.split()[-24:]) or "nothing"

"""The journal of an audit: one line of JSON for each attack that ended, so that a run can go on.

A line counts only for the same seed and the same code. A line torn by a crash is no line.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dudley
from dudley.audit.judge import Judgement


@cache
def code_digest() -> str:
    """sha256 of the package's modules, names and contents."""
    root = Path(dudley.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@dataclass(frozen=True)
class Journal:
    """Rows by attack, in a file or nowhere."""

    path: Path | None
    seed: int

    def read(self) -> dict[str, list[Judgement]]:
        """What earlier runs with this seed and this code found."""
        found: dict[str, list[Judgement]] = {}
        if self.path is None or not self.path.is_file():
            return found
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            if entry.get("code") == code_digest() and entry.get("seed") == self.seed:
                found[entry["attack"]] = [Judgement.from_json(row) for row in entry["rows"]]
        return found

    def write(self, attack: str, rows: list[Judgement]) -> None:
        """Append one attack's rows, and see them to the disk."""
        if self.path is None:
            return
        entry = {
            "code": code_digest(),
            "seed": self.seed,
            "attack": attack,
            "rows": [row.to_json() for row in rows],
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * self._torn() + json.dumps(entry, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _torn(self) -> bool:
        """Does the file end within a line?"""
        if self.path is None or not self.path.is_file() or not self.path.stat().st_size:
            return False
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

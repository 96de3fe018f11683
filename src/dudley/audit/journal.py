"""The journal of an audit: one line of JSON for each attack that ended, so that a run can go on.

A line counts only for the same seed and the same code. A line torn by a crash is no line.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from dudley.audit.judge import Judgement
from dudley.core.sources import code_digest


@dataclass(frozen=True)
class Journal:
    """Rows by attack, in a file or nowhere."""

    path: Path | None
    seed: int

    def read(self) -> dict[str, list[Judgement]]:
        """What earlier runs with this seed and this code found."""
        rows: dict[str, list[Judgement]] = {}
        if self.path is None or not self.path.is_file():
            return rows
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:
                continue
            if entry.get("code") == code_digest() and entry.get("seed") == self.seed:
                rows[entry["attack"]] = [Judgement.from_json(row) for row in entry["rows"]]
        return rows

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
            # An attack may have taken an hour: its rows are to survive a power cut, too.
            os.fsync(file.fileno())

    def _torn(self) -> bool:
        """Does the file end within a line?"""
        if self.path is None or not self.path.is_file() or not self.path.stat().st_size:
            return False
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

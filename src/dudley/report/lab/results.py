"""A results folder as figures and pages read it: tables, findings, provenance.

Committed ones lie in ``results/NAME/SCALE`` of the repository, others wherever a run put them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import dudley
from dudley.core.errors import InputError, UnknownName
from dudley.core.extras import missing
from dudley.experiments.base import SCALES, Finding
from dudley.experiments.conduct import findings

RECORD = "provenance.json"


@dataclass(frozen=True)
class Results:
    """The results of one experiment at one scale."""

    folder: Path

    def __post_init__(self):
        if not finished(self.folder):
            fix = "dudley lab run makes one"
            raise InputError("results folder", f"one with {RECORD}", str(self.folder), fix)

    @cached_property
    def provenance(self) -> dict[str, Any]:
        return json.loads((self.folder / RECORD).read_text(encoding="utf-8"))

    @property
    def name(self) -> str:
        return self.provenance["experiment"]

    @property
    def scale(self) -> str:
        return self.provenance["scale"]

    @property
    def config(self) -> dict[str, Any]:
        return self.provenance["config"]

    @cached_property
    def findings(self) -> list[Finding]:
        return findings(self.folder)

    @property
    def tables(self) -> list[str]:
        """The names of the tables, without their ending."""
        return sorted(path.stem for path in self.folder.glob("*.parquet"))

    def table(self, name: str) -> dict[str, np.ndarray]:
        """A table as columns; a column of curves is an array of lists."""
        if name not in self.tables:
            raise UnknownName("table of these results", name, self.tables)
        try:
            from pyarrow import parquet
        except ImportError:
            raise missing("pyarrow", "reading results", "lab") from None
        read = parquet.read_table(self.folder / f"{name}.parquet")
        return {column: read[column].to_numpy() for column in read.column_names}

    def with_number(self, name: str) -> Finding:
        """The first finding that has a number of this name."""
        for finding in self.findings:
            if name in finding.numbers:
                return finding
        known = [key for finding in self.findings for key in finding.numbers]
        raise UnknownName("number of these findings", name, known)

    def number(self, name: str) -> Any:
        return self.with_number(name).numbers[name]

    def has(self, name: str) -> bool:
        return any(name in finding.numbers for finding in self.findings)


def finished(folder: Path) -> bool:
    """Does a folder hold the results of a run that ended?"""
    return (folder / RECORD).is_file() and (folder / "findings.json").is_file()


def committed_folder() -> Path:
    """Where committed results lie: in the repository that holds this package, else right here."""
    beside = Path(dudley.__file__).resolve().parents[2] / "results"
    return beside if beside.is_dir() else Path("results")


def committed(name: str, root: Path | None = None) -> dict[str, Results]:
    """The committed results of an experiment by scale, the largest scale first."""
    root = committed_folder() if root is None else root
    places = {scale: root / name / scale for scale in reversed(SCALES)}
    return {scale: Results(place) for scale, place in places.items() if finished(place)}

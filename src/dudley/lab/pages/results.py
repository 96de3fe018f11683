"""A results folder as figures and pages read it: tables, findings, provenance.

Committed ones lie in ``results/NAME/SCALE`` of the repository, others wherever a run put them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import dudley
from dudley.core.boundary import tables
from dudley.core.boundary.paths import inside
from dudley.core.errors import DudleyError, InputError, UnknownName
from dudley.lab import record
from dudley.lab.experiment import SCALES, Experiment, Finding
from dudley.lab.finding import counts
from dudley.lab.record import FINDINGS, RECORD


@dataclass(frozen=True)
class Results:
    """The results of one experiment at one scale; a folder whose record is damaged is refused."""

    folder: Path

    def __post_init__(self):
        if not finished(self.folder):
            fix = "dudley lab run makes one"
            expected = f"one with {RECORD} and {FINDINGS}"
            raise InputError("results folder", expected, str(self.folder), fix)
        _ = self.provenance, self.findings

    @cached_property
    def provenance(self) -> dict[str, Any]:
        return record.provenance(self.folder)

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
        return record.findings(self.folder)

    @property
    def tables(self) -> list[str]:
        """The names of the tables, without their ending."""
        return sorted(path.stem for path in self.folder.glob("*.parquet"))

    def table(self, name: str) -> dict[str, np.ndarray]:
        """A table as columns; a column of curves is an array of lists."""
        if name not in self.tables:
            raise UnknownName("table of these results", name, self.tables)
        return tables.table(inside(self.folder, f"{name}.parquet"))

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


def in_short(experiment: Experiment, results: Results) -> str:
    """How often each verdict, and what the record lacks."""
    return "; ".join(filter(None, [counts(results.findings), experiment.caveat(results.config)]))


def finished(folder: Path) -> bool:
    """Does a folder hold the results of a run that ended?"""
    return (folder / RECORD).is_file() and (folder / FINDINGS).is_file()


def committed_folder() -> Path:
    """Where committed results lie: in the repository that holds this package, else right here."""
    beside = Path(dudley.__file__).resolve().parents[2] / "results"
    return beside if beside.is_dir() else Path("results")


def committed(
    name: str, root: Path | None = None, damaged: dict[str, str] | None = None
) -> dict[str, Results]:
    """The committed results of an experiment by scale, the largest scale first.

    Where ``damaged`` is given, it is told by scale why results cannot be read, and they are
    skipped; otherwise they are refused.
    """
    root = committed_folder() if root is None else root
    by_scale = {}
    for scale in reversed(SCALES):
        folder = root / name / scale
        if not any((folder / file).exists() for file in (RECORD, FINDINGS)):
            continue
        try:
            by_scale[scale] = Results(folder)
        except DudleyError as refusal:
            if damaged is None:
                raise
            damaged[scale] = str(refusal)
    return by_scale

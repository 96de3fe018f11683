"""Read a table of outcomes: a file by its ending, or arrays and frames as they are.

A reader yields the header and then parts of the columns that are used. Whatever is the same for all
formats stands here: which column is what, how it is collected, and how it becomes the table.

>>> columns = {"correct": [1, 0, 1], "site": ["A", "A", "B"]}
>>> table, _ = table_of_columns(columns, OutcomeColumns(groups=("site",)))
>>> table.losses, table.groups["site"].names
(array([0., 1., 0.]), ('A', 'B'))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.outcomes.collect import (
    Collector,
    IdCollector,
    LabelCollector,
    NumberCollector,
    TimeCollector,
    TruthCollector,
)
from dudley.certificates.outcomes.columns import OutcomeColumns
from dudley.certificates.outcomes.table import (
    OutcomeTable,
    expect_one_spelling,
    losses_of_labels,
)
from dudley.core.boundary import limits
from dudley.core.errors import InputError
from dudley.core.registry import Registry

Choose = Callable[[Sequence[str]], Sequence[str]]  # of a header, the columns that are used
ColumnParts = Iterator[Mapping[str, Sequence[Any]]]
OutcomeReader = Callable[[Path, Choose], ColumnParts]
READERS: Registry[OutcomeReader] = Registry(
    "ending of a table of outcomes", "dudley.certificates.outcomes.readers.*"
)
PART = 1 << 16  # rows of an array that are collected at once
FORM = {"labels": LabelCollector, "correct": TruthCollector, "loss": NumberCollector}


@dataclass(frozen=True)
class OutcomeFile:
    """A table in a file, which is read once it is known which column is what.

    Of a log that a tool wrote the tool knows it (`dudley.certificates.outcomes.logs`).
    """

    path: Path

    def read_log(self, log: Mapping[str, Any]) -> OutcomeTable:
        """The table in the log of a tool."""
        from dudley.certificates.outcomes.logs.base import logged

        return logged(self.path, log)

    def read(self, columns: OutcomeColumns) -> tuple[OutcomeTable, OutcomeColumns]:
        """The table, and the columns with those that were there by their plain names."""
        ending = self.path.suffix.removeprefix(".").lower()
        if ending not in READERS:
            endings = ", ".join(f".{name}" for name in sorted(READERS))
            raise InputError("table of outcomes", f"a file that ends in {endings}", self.path.name)
        gather = _Gathering(columns)
        for part in READERS[ending](self.path, gather.choose):
            gather.add(part)
        return gather.table(), gather.columns


def table_of_columns(
    columns: Mapping[str, Any], roles: OutcomeColumns
) -> tuple[OutcomeTable, OutcomeColumns]:
    """The table of arrays, lists, or a frame's columns by name."""
    gather = _Gathering(roles)
    names = gather.choose(list(columns))
    arrays = {name: np.asarray(columns[name]) for name in names}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or len(*shapes) != 1:
        shapes = {name: array.shape for name, array in arrays.items()}
        raise InputError("columns of outcomes", "lists of one length", shapes)
    count = len(next(iter(arrays.values())))
    for first in range(0, count, PART):
        parts = {name: array[first : first + PART].tolist() for name, array in arrays.items()}
        gather.add(parts)
    return gather.table(), gather.columns


class _Gathering:
    """Collects the columns that are used, and makes the table of them."""

    def __init__(self, columns: OutcomeColumns):
        self.columns, self.rows = columns, 0

    def choose(self, header: Sequence[str]) -> tuple[str, ...]:
        self.columns = self.columns.among(header)
        return self.columns.names

    @cached_property
    def collectors(self) -> dict[tuple[str, str], Collector]:
        """By part and name: a column may be a group and a label, too."""
        at, form = self.columns, FORM[self.form]
        kinds: dict[tuple[str, str], type[Collector]] = {("beside", c): form for c in at.beside}
        if self.form == "labels":
            kinds["y", at.y] = LabelCollector
        if column := {"labels": at.prediction, "correct": at.correct, "loss": at.loss}[self.form]:
            kinds["model", column] = form
        kinds |= {("groups", name): LabelCollector for name in at.groups}
        kinds |= {("score", at.score): NumberCollector} if at.score else {}
        kinds |= {("time", at.time): TimeCollector} if at.time else {}
        if name := at.unit or at.id:
            kinds["ids", name] = IdCollector
        return {key: kind(key[1]) for key, kind in kinds.items()}

    @property
    def form(self) -> str:
        at = self.columns
        return "labels" if at.y else "loss" if at.loss else "correct"

    def add(self, part: Mapping[str, Sequence[Any]]) -> None:
        self.rows += len(next(iter(part.values())))
        if self.rows * len(self.collectors) * 8 > limits.UNPACKED or self.rows > limits.ROWS:
            most = min(limits.ROWS, limits.UNPACKED // (8 * len(self.collectors)))
            raise InputError("table of outcomes", f"at most {most:,} rows", "more")
        for (_, name), collector in self.collectors.items():
            collector.add(part[name])

    def table(self) -> OutcomeTable:
        if not self.rows:
            raise InputError("table of outcomes", "at least one row", "none")
        at, taken = self.columns, self.collectors
        arrays: dict[str, Any] = {}
        y = self._labels("y", at.y) if self.form == "labels" else None
        if model := next((c for (part, _), c in taken.items() if part == "model"), None):
            labels = isinstance(model, LabelCollector)
            name = {"labels": "prediction", "correct": "correct", "loss": "loss"}[self.form]
            arrays[name] = model.column() if labels else model.array()
            arrays |= {"y": y} if labels else {}
        others = {name: self._losses(name, y) for name in at.beside}
        if not arrays:  # candidates alone: the first stands for the model until one is chosen
            arrays["loss" if self.form == "loss" else "correct"] = _as(self.form, others)
        for (part, _), collector in taken.items():
            if part in ("score", "ids", "time"):
                arrays[part] = collector.array()
        groups = {name: self._labels("groups", name) for name in at.groups}
        return OutcomeTable(**arrays, groups=groups, others=others)

    def _labels(self, part: str, name: str):
        collector = self.collectors[part, name]
        assert isinstance(collector, LabelCollector)
        return collector.column()

    def _losses(self, name: str, y: Any) -> np.ndarray:
        collector = self.collectors["beside", name]
        if isinstance(collector, LabelCollector):
            column = collector.column()
            expect_one_spelling(y, column)
            return losses_of_labels(y, column)
        column = collector.array()
        return column if self.form == "loss" else 1.0 - column


def _as(form: str, others: Mapping[str, np.ndarray]) -> np.ndarray:
    first = next(iter(others.values()))
    return first if form == "loss" else first == 0

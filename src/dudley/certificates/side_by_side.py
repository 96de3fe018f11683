"""Methods side by side: what each certifies on one task, against the number of examples.

A record (`results/certificates/methods.json`, made by ``benchmarks/certificates/methods.py``) holds
tasks, and a row for every training: the task, the method, the number n of labelled examples that
the method may use in all, the seed, the certificate and what it was computed from. All methods of
a task have the same kind of model and the same n: what a hold-out tests on is missing in training.
A hold-out and a pass pay for a choice among recipes where the other rows of their task do, so that
numbers side by side cost alike. Passes come from records of their own (`one-pass.json`). Where
settings were changed after a pass and the same sample was read again, the later row pays for the
choice (its ``among`` is larger), and it alone is shown.

A model that stays where a share of the examples had left it, or takes a handful of picks from
there, is certified by the errors on the rest: that is a hold-out in effect (`MethodRow.still`).

>>> rows = [MethodRow("and", "hold-out", 100, seed, v, 0.0, {}) for seed, v in enumerate((2, 9, 4))]
>>> spread(rows)
(2, 4, 9)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.methods.prequential.form import upper
from dudley.certificates.price import Bill, one_of
from dudley.core.errors import InputError

SCHEMA = "dudley.methods/1"
SHARED = "pick-to-learn after a share"
STILL = {"bits": 2.0, "nats of divergence": 1e-6}  # no more than that says: nothing moved
HANDFUL = 8  # picks after a share
METHOD_TITLES = {
    "pick-to-learn": "pick-to-learn, from the start alone",
    SHARED: "pick-to-learn, after training on a share",
    "hold-out": "hold-out, the best of three declared splits",
    "occam": "code around a model that a share gave",
    "pac-bayes": "PAC-Bayes around a model that a share gave",
    "one pass": "one pass, about its models and not the last one",
}


@dataclass(frozen=True)
class MethodRow:
    """One training and its certificate; ``counts`` is what the number follows from.

    ``among`` is the number of recipes for whose choice the certificate pays. ``pool_value`` bounds
    the share of errors in the finite pool of the sample, ``undrawn_value`` that in its other items.
    """

    task: str
    method: str
    n: int
    seed: int
    value: float
    test_error: float | None
    counts: dict[str, Any]
    among: int = 1
    pool_value: float | None = None
    undrawn_value: float | None = None

    def __post_init__(self):
        if self.method not in METHOD_TITLES:
            raise InputError("method of a row", ", ".join(METHOD_TITLES), self.method)

    @property
    def still(self) -> bool:
        """Is the certified model all but the one that a share gave?"""
        if self.method == SHARED and self.counts["picks"] <= HANDFUL:
            return True
        return any(self.counts.get(name, most + 1) <= most for name, most in STILL.items())


@dataclass(frozen=True)
class TaskFacts:
    """What a task is: the model, the population, how often guessing errs, the fresh examples."""

    name: str
    title: str
    model: str
    population: str
    guessing: float
    fresh: str


@dataclass(frozen=True)
class MethodsRecord:
    """All tasks and rows."""

    delta: float
    tasks: tuple[TaskFacts, ...]
    rows: tuple[MethodRow, ...]

    def of(self, task: str, method: str, n: int | None = None) -> list[MethodRow]:
        """The rows of a task and a method, the fewest examples first."""
        rows = [row for row in self.rows if (row.task, row.method) == (task, method)]
        return sorted((row for row in rows if n in (None, row.n)), key=lambda row: row.n)

    def methods(self, task: str) -> list[str]:
        """The methods that a task has rows of."""
        return [name for name in METHOD_TITLES if self.of(task, name)]

    def sizes(self, task: str) -> list[int]:
        """The numbers of examples that a task has rows of."""
        return sorted({row.n for row in self.rows if row.task == task})

    def winner(self, task: str, n: int) -> str | None:
        """The method with the least median certificate at n; None where no hold-out was run.

        A method whose model stayed where the share had left it wins nothing that is its own.
        """
        rows = {name: self.of(task, name, n) for name in self.methods(task)}
        present = [name for name in rows if rows[name] and not all(r.still for r in rows[name])]
        if "hold-out" not in present:
            return None
        return min(present, key=lambda name: spread(self.of(task, name, n))[1])


def hold_out_that_pays(row: MethodRow, among: int, delta: float) -> float:
    """The hold-out of a row, the best of three splits, if it paid for its recipe as others do."""
    c = Bill(delta, (one_of("split", 3), one_of("recipe", among))).log_confidence
    return binomial_upper(row.counts["errors"], row.counts["examples held out"], c)


def pass_that_pays(row: MethodRow, among: int, delta: float) -> float:
    """The bound of a pass with so many errors, if it paid for its recipe as others do."""
    errors, m = row.counts["errors before updates"], row.counts["examples counted"]
    c = Bill(delta, (one_of("recipe", among),)).log_confidence
    return upper("mixture", np.repeat([1.0, 0.0], [errors, m - errors]), c)


def spread(rows: list[MethodRow]) -> tuple[float, float, float]:
    """The least, the median and the largest certificate; of two in the middle, the larger one.

    Else a method with two draws would be shown by its better one beside others with one.
    """
    values = sorted(row.value for row in rows)
    return values[0], values[len(values) // 2], values[-1]


def read(path: Path, *passes: Path) -> MethodsRecord:
    """The record of a file, with the rows of records of passes."""
    record = json.loads(path.read_text(encoding="utf-8"))
    if record.get("schema") != SCHEMA:
        raise InputError(str(path), f"a record with schema {SCHEMA}", "another file")
    rows = [_row(row) for row in record["rows"]]
    of_passes = (json.loads(file.read_text(encoding="utf-8"))["rows"] for file in passes)
    rows += _latest(_pass(row) for each in of_passes for row in each if row["learner"] != "linear")
    δ, among = record["delta"], {row.task: 1 for row in rows}
    for row in rows:
        among[row.task] = max(among[row.task], row.among)
    rows = [_alike(row, among[row.task], δ) for row in rows]
    tasks = [TaskFacts(**task) for task in record["tasks"]]
    return MethodsRecord(δ, tuple(tasks), tuple(rows))


def _alike(row: MethodRow, among: int, delta: float) -> MethodRow:
    """A hold-out or a pass at the price that the rows beside it pay; other rows as they are."""
    if row.method not in PAYING or among == 1:
        return row
    return replace(row, value=PAYING[row.method](row, among, delta), among=among)


PAYING = {"hold-out": hold_out_that_pays, "one pass": pass_that_pays}


def _pass(row: dict[str, Any]) -> MethodRow:
    counts = {"errors before updates": row["errors"], "examples counted": row["counted"]}
    return MethodRow(
        row["task"], "one pass", row["n"], row["seed"], row["value"], None, counts,
        among=row.get("among", 1),
    )  # fmt: skip


def _latest(rows: Iterable[MethodRow]) -> list[MethodRow]:
    """Of the passes over the same sample the one that pays for the most settings."""
    latest: dict[tuple[str, int, int], MethodRow] = {}
    for row in rows:
        run = (row.task, row.n, row.seed)
        if run not in latest or row.among > latest[run].among:
            latest[run] = row
    return list(latest.values())


def _row(row: dict[str, Any]) -> MethodRow:
    named = {name: row[name] for name in MethodRow.__dataclass_fields__ if name in row}
    return MethodRow(**named, among=row.get("declared", {}).get("among", 1))

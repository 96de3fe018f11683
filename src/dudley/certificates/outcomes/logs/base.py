"""Logs: what an evaluation left behind, as a table of outcomes.

A reader is a function under ``@LOGS.register("tool")`` of a path and of what must be said
beforehand (the metric, the filter, what no answer counts as). It returns an `OutcomeTable` and
leaves no row out: rows that cannot be counted are refused, since which rows are left out may depend
on how hard they are. Whether losses are errors (0 or 1) is decided by the metric's name or the kind
of the values in the log's format, never by which values came, so that the choice of the interval
does not look at the data.

    table = du.read_outcomes("samples_arc_2026-05-01.jsonl", "lm-eval", metric="acc")
    certificate = du.outcomes(table)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.outcomes.table import OutcomeTable
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError
from dudley.core.registry import Registry

LogReader = Callable[..., OutcomeTable]
LOGS: Registry[LogReader] = Registry("log of a tool", "dudley.certificates.outcomes.logs.{name}")
SHOWN = 8  # names in a refusal


def read_outcomes(path: str | Path, tool: str, **said: Any) -> OutcomeTable:
    """The table of outcomes in a log that a tool wrote: lm-eval, inspect, huggingface."""
    try:
        return LOGS[tool](Path(path), **said)
    except TypeError as error:
        if "argument" not in str(error):  # an unexpected one, or the path again
            raise
        raise InputError(f"log of {tool}", "what this reader asks for", error) from None


def logged(path: str | Path, log: Mapping[str, Any]) -> OutcomeTable:
    """The table of a log as a certificate declares it: the tool, and what was said of the log."""
    if not isinstance(log.get("tool"), str):
        raise InputError("log", "the name of a tool", "none")
    return read_outcomes(path, **log)


def one_of_names(path: Path, what: str, names: Sequence[str], said: str | None) -> str:
    """The name that was said, or the only one; among several none is chosen after a look."""
    if said is None and len(names) == 1:
        return names[0]
    if said is None or said not in names:
        some = ", ".join(names[:SHOWN]) or "none"
        fix = f"say which, before you look: {what}=…"
        raise refusal(path, f"{what}, one of: {some}", said or f"{len(names)} of them", fix=fix)
    return said


def numbered(ids: Sequence[Any]) -> np.ndarray:
    """Ids as numbers, equal where the ids are: texts of any length take no more room."""
    places: dict[str, int] = {}
    return np.array([places.setdefault(str(each), len(places)) for each in ids], np.int64)


def graded(path: Path, values: Sequence[Any], binary: bool, **beside: Any) -> OutcomeTable:
    """The table of grades in [0, 1], of which 1 is right; ``binary`` says that they are 0 or 1."""
    try:
        grades = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        grades = np.array([np.nan])
    if grades.ndim != 1 or not ((grades >= 0) & (grades <= 1)).all():
        raise refusal(path, "grades in [0, 1] in every row", "others")
    if not binary:
        return OutcomeTable(loss=1 - grades, **beside)
    if not np.isin(grades, (0.0, 1.0)).all():
        raise refusal(path, "grades 0 or 1", "others between", fix="say binary=False")
    return OutcomeTable(correct=grades == 1, **beside)

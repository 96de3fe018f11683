"""Certify outcomes: ``du.outcomes(...)`` for files, arrays and frames.

The first argument is a file, or whatever has columns by name (a frame of pandas or polars, a dict);
or arrays are handed over by the names of their parts. Names of columns and everything else that is
declared are keywords, those of `OutcomesDeclared` and of `OutcomeColumns`.

>>> import numpy as np
>>> certificate = outcomes(correct=np.arange(400) % 100 > 0)
>>> certificate.facts.errors, round(certificate.value, 4)
(4, 0.0227)
>>> table = {"y": [0, 1] * 150, "answer": [0, 1] * 150, "site": ["A", "B"] * 150}
>>> [row["at_most"] for row in outcomes(table, prediction="answer", groups=["site"]).facts.slices]
[0.0287909214, 0.0287909214]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.certificate import Certificate
from dudley.certificates.methods.outcomes.declared import OutcomesDeclared
from dudley.certificates.methods.outcomes.method import OutcomesMethod
from dudley.certificates.outcomes.columns import DRAW, UNWEIGHTED, OutcomeColumns, is_weight
from dudley.certificates.outcomes.reader import OutcomeFile, table_of_columns
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.core.errors import InputError

ROLES = tuple(f.name for f in fields(OutcomeColumns))


def outcomes(table: Any = None, /, **declared: Any) -> Certificate:
    """The certificate of a table of outcomes.

    Without a table, ``y``, ``prediction``, ``correct``, ``loss``, ``score``, ``id``, ``unit``,
    ``time`` and ``old`` are arrays, ``groups`` and ``candidates`` arrays by name. With one they are
    the names of columns. A log of another tool needs ``log``, such as ``{"tool": "lm-eval",
    "metric": "acc"}``; there, and for an `OutcomeTable`, ``units=True`` says that ids are those of
    units.
    """
    parts = {name: declared.pop(name) for name in ROLES if name in declared}
    if log := declared.get("log"):
        if not isinstance(table, str | Path):
            raise InputError("log", "a file that a tool wrote", type(table).__name__)
        table = OutcomeFile(Path(table)).read_log(log)
    if isinstance(table, OutcomeTable):
        if parts:
            raise InputError("outcomes", "a table alone: it has its columns", ", ".join(parts))
        rows, columns = table, columns_of(table, declared.pop("units", False))
    elif table is None:
        rows, columns = _of_arrays(parts)
    else:
        roles = _roles(parts)
        rows, columns = _of_table(table, roles)
    record = OutcomesDeclared(**_plain(declared), columns=columns)
    return OutcomesMethod().made(None, rows, record)


def columns_of(table: OutcomeTable, units: bool = False) -> OutcomeColumns:
    """The columns of a table under their plain names; ``units`` says that its ids are units."""
    there = {
        name: name
        for name in ("y", "prediction", "correct", "loss", "score")
        if getattr(table, name) is not None
    }
    if units and table.ids is None:
        raise InputError("units", "the id of the unit of every row", "a table without ids")
    if table.ids is not None:
        there["unit" if units else "id"] = "unit" if units else "id"
    candidates = tuple(name for name in table.others if name != "old")
    there |= {"old": "old"} if "old" in table.others else {}
    return OutcomeColumns(**there, groups=tuple(table.groups), candidates=candidates)


def _of_arrays(parts: Mapping[str, Any]) -> tuple[OutcomeTable, OutcomeColumns]:
    columns, names = {}, {}
    for part, value in parts.items():
        if part in ("groups", "candidates"):
            if not isinstance(value, Mapping):
                raise InputError(part, "arrays by name", type(value).__name__)
            for name, array in value.items():
                if name in columns and not np.array_equal(columns[name], array):
                    fix = "every column has a name of its own"
                    raise InputError(part, "other names", f"two columns of the name {name}", fix)
            columns |= value
            names[part] = tuple(value)
        elif value is not None:
            columns[part], names[part] = value, part
    if not columns:
        raise InputError("outcomes", "a file, a table, or arrays by name", "nothing")
    return table_of_columns(columns, OutcomeColumns(**names))


def _of_table(table: Any, roles: OutcomeColumns) -> tuple[OutcomeTable, OutcomeColumns]:
    if isinstance(table, str | Path):
        return OutcomeFile(Path(table)).read(roles)
    if isinstance(table, Mapping):
        return table_of_columns(table, roles)
    if not hasattr(table, "columns") or not hasattr(table, "__getitem__"):
        got = type(table).__name__
        raise InputError("outcomes", "a file, or columns by name (a frame, a dict)", got)
    columns = {str(name): table[name] for name in table.columns}
    if len(columns) < len(table.columns):
        raise InputError("columns", "names that differ as texts", "one twice")
    return table_of_columns(columns, roles)


def _roles(parts: Mapping[str, Any]) -> OutcomeColumns:
    texts = {}
    for name, value in parts.items():
        several = name in ("groups", "candidates")
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple) or not all(isinstance(v, str) for v in listed):
            raise InputError(name, "the name of a column", type(value).__name__)
        texts[name] = tuple(listed) if several else listed[0]
    return OutcomeColumns(**texts)


def _plain(declared: Mapping[str, Any]) -> dict[str, Any]:
    known = {f.name for f in fields(OutcomesDeclared)} - {"columns"}
    for name in declared:
        if is_weight(name):
            raise InputError("outcomes", UNWEIGHTED, name, DRAW)
        if name not in known:
            raise InputError("declaration of outcomes", ", ".join(sorted(known)), name)
    return {k: tuple(v) if isinstance(v, list) else v for k, v in declared.items()}

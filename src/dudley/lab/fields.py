"""The fields of a training's configuration: type, default and meaning, from the dataclasses.

The meaning of a field is the comment at the end of its line, or on the line above it.

>>> next(field for field in fields_of(Stop) if field.name == "at_most").meaning
'it ends where the metric is at most this'
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from dudley.core.errors import UnknownName
from dudley.show.document import Document, Section, Table
from dudley.show.markdown import cell, code, table
from dudley.train.ensemble.base import Ensemble
from dudley.train.ensemble.registry import ENSEMBLES
from dudley.train.optimise.base import OPTIMISERS
from dudley.train.optimise.schedules import SCHEDULES
from dudley.train.screen import Screen
from dudley.train.tasks.registry import TASKS
from dudley.train.training import Keep, Stop, Training

TRAINING = {"training": Training, "stop": Stop, "keep": Keep, "screen": Screen}
COMMENT = re.compile(r"#(?!\s*pyright:)\s*(.*)$")
HEADS = ["field", "type", "default", "meaning"]
FROM_THE_TRIAL = ("keys", "lengths")  # of a model: the packing of trials sets them


class FieldRow(NamedTuple):
    """One field, as a configuration may say it."""

    name: str
    type: str
    default: str  # "" where the field must be said
    meaning: str


def units(kind: str) -> Mapping[str, type]:
    """The dataclasses of one kind by the names that configurations use."""
    kinds = _kinds()
    if kind not in kinds:
        raise UnknownName("kind of fields", kind, kinds)
    return kinds[kind]()


def shipped(kind: str) -> dict[str, type]:
    """Of these, the ones that belong to `dudley.train`."""
    return {
        name: unit
        for name, unit in units(kind).items()
        if unit.__module__.startswith("dudley.train.")
    }


def kinds() -> list[str]:
    """The parts of a configuration."""
    return list(_kinds())


def _kinds() -> dict[str, Callable[[], Mapping[str, type]]]:
    return {
        "task": lambda: dict(sorted(TASKS.items())),
        "model": lambda: {name: _ensemble(build) for name, build in sorted(ENSEMBLES.items())},
        "training": lambda: TRAINING,
        "optimiser": lambda: dict(sorted(OPTIMISERS.units.items())),
        "schedule": lambda: dict(sorted(SCHEDULES.units.items())),
    }


def fields_of(unit: type) -> list[FieldRow]:
    """The fields of a dataclass that a configuration may say."""
    comments = _comments(unit)
    return [
        FieldRow(field.name, str(field.type), _default(field), comments.get(field.name, ""))
        for field in dataclasses.fields(unit)
        if field.name not in FROM_THE_TRIAL
    ]


def document(parts: Iterable[str]) -> Document:
    """All units of these kinds, a section for each."""
    sections = [
        Section(name if name == kind else f"{kind} {name}", (Table.of(HEADS, fields_of(unit)),))
        for kind in parts
        for name, unit in units(kind).items()
    ]
    return Document("", tuple(sections), kind="fields")


def page() -> str:
    """Those of `dudley.train` in Markdown; units with the same fields share a table.

    An experiment may register a task of its own: that is no part of the page.
    """
    parts = []
    for kind in kinds():
        names: dict[type, list[str]] = {}
        for name, unit in shipped(kind).items():
            names.setdefault(unit, []).append(name)
        for unit, same in names.items():
            title = ", ".join(map(code, same))
            rows = [
                [
                    code(row.name),
                    code(row.type),
                    code(row.default) if row.default else "",
                    row.meaning,
                ]
                for row in fields_of(unit)
            ]
            body = table(HEADS, [list(map(cell, row)) for row in rows]) if rows else "No fields."
            parts.append(f"### {kind.capitalize()} {title}\n\n{body}")
    return "\n\n".join(parts)


def _default(field: dataclasses.Field) -> str:
    if field.default is dataclasses.MISSING:
        return ""
    named = getattr(field.default, "name", None)  # of a unit: its own name
    return repr(field.default) if named is None else str(named)


def _comments(unit: type) -> dict[str, str]:
    """The comment of each field, those of its base classes included."""
    comments: dict[str, str] = {}
    for base in reversed(unit.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        source = textwrap.dedent(inspect.getsource(base))
        lines, (definition,) = source.splitlines(), ast.parse(source).body
        for node in getattr(definition, "body", ()):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                beside = COMMENT.search(lines[node.lineno - 1])
                above = COMMENT.fullmatch(lines[node.lineno - 2].strip())
                comment = beside or above
                comments[node.target.id] = comment[1] if comment else ""
    return comments


def _ensemble(build: Callable[..., Any]) -> type:
    """The ensemble's class that a function of the registry builds: the one that it names."""
    named = [build.__globals__.get(name) for name in build.__code__.co_names]
    return next(unit for unit in named if isinstance(unit, type) and issubclass(unit, Ensemble))

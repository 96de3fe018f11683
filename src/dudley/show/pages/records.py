"""Records of any kind as a document: one property list, or a row each, and below it what is inside.

For what commands print with ``--json`` and what has no page of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dudley.show.document import (
    Cell,
    Document,
    DocumentBlock,
    Folded,
    Points,
    Properties,
    Prose,
    Section,
    Table,
)
from dudley.show.pages.base import BUILDERS, Builder, made_by

TITLES = {
    "experiments": "Experiments",
    "figures": "Figures of an experiment",
    "fields": "Fields of a configuration",
    "findings": "Findings",
    "forecast": "What a run would take",
    "runs": "Runs",
    "retried": "Batches that wait again",
    "exports": "Exported tables",
    "differences": "Two runs compared",
    "plan-test": "How many outcomes a test needs",
    "report": "A report that was written",
    "serve": "Answers of the explorer",
}
DEEPEST = 4  # tables inside tables, after which a value is text


def document(items: list[dict[str, Any]], title: str = "Records") -> Document:
    """One item as properties, several as a table; nested values are folded below."""
    count = f"{len(items)} item{'s' * (len(items) != 1)}"
    return Document(title, tuple(blocks(items)), lead=(count,), made=made_by(), kind="records")


def blocks(items: list[dict[str, Any]], depth: int = 0) -> list[DocumentBlock]:
    """The plain values of items, and below them the nested ones."""
    if not items:
        return [Prose("None.")]
    if len(items) == 1:
        plain = tuple((name, text(value)) for name, value in items[0].items() if is_plain(value))
        return [Properties(plain), *nested(items[0], depth)]
    names = list(dict.fromkeys(n for item in items for n, value in item.items() if is_plain(value)))
    table = Table.of(names, [[cell(item.get(name)) for name in names] for item in items])
    inside = [(heading(i, item), nested(item, depth)) for i, item in enumerate(items, 1)]
    return [table, *(Folded(title, tuple(below)) for title, below in inside if below)]


def nested(item: dict[str, Any], depth: int) -> list[DocumentBlock]:
    """What a record holds beside plain values."""
    return [
        Folded(name, (inner(value, depth + 1),))
        for name, value in item.items()
        if not is_plain(value) and value
    ]


def inner(value: Any, depth: int) -> DocumentBlock:
    """A table or a list inside a record."""
    if depth >= DEEPEST:
        return Prose(text(value))
    if isinstance(value, dict):
        return Section("", tuple(blocks([value], depth)))
    if all(isinstance(entry, dict) for entry in value):
        return Section("", tuple(blocks(value, depth)))
    return Points(tuple(map(text, value)))


def is_plain(value: Any) -> bool:
    """A number, a text, yes or no, nothing; or a short list of these."""
    if isinstance(value, list):
        return 0 < len(value) <= 2 and all(isinstance(x, int | float) for x in value)
    return not isinstance(value, dict)


def heading(number: int, item: dict[str, Any]) -> str:
    """What an item is called: its id, or its number."""
    return str(item.get("id") or item.get("claim") or number)


def cell(value: Any) -> Cell:
    """A value in a table; numbers sort."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return Cell(text(value), value if numeric else None)


def text(value: Any) -> str:
    """A value in words."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
        case list():
            return ", ".join(map(text, value))
        case dict():
            return ", ".join(f"{name} = {text(inside)}" for name, inside in value.items())
        case _:
            return str(value)


def _builder(title: str) -> Callable[[list[dict[str, Any]]], Document]:
    return partial(document, title=title)


for _kind, _title in TITLES.items():
    _register: Callable[[Builder], Builder] = BUILDERS.register(_kind)
    _register(_builder(_title))

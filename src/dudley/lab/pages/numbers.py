"""The numbers of a finding as Markdown: single ones in a list, records in tables.

>>> print(numbers({"exponent": 0.31, "interval": [0.2, 0.42], "table": [{"T": 100, "m": 80}]}))
| number | value |
| --- | --- |
| exponent | 0.31 |
| interval | 0.2 to 0.42 |
<BLANKLINE>
Table (1 row):
<BLANKLINE>
| T | m |
| --- | --- |
| 100 | 80 |
"""

from __future__ import annotations

import math
from typing import Any

from dudley.lab.figures.plain import interval, numeric
from dudley.show import markdown

LONGEST = 48  # rows of a table on a page; longer ones are cut, and say so
MANY = 12  # rows that are folded away


def numbers(tree: dict[str, Any]) -> str:
    """All numbers of a finding."""
    single: list[list[str]] = []
    tables: list[str] = []
    for key, value in flattened(tree).items():
        if is_records(value):
            tables.append(records(key, value))
        elif isinstance(value, list | tuple) and not interval(value) and len(value) > MANY:
            single.append([name(key), f"{len(value)} values, in findings.json"])
        else:
            single.append([name(key), shown(value)])
    parts = [folded(f"{len(single)} numbers", ["number", "value"], single)] if single else []
    return "\n\n".join(parts + tables)


def folded(words: str, head: list[str], rows: list[list[str]]) -> str:
    """A table, folded away if it is long; a short one under its words, if it is no list."""
    table = markdown.table(head, rows)
    if len(rows) > MANY:
        return f"<details><summary>{words}</summary>\n\n{table}\n\n</details>"
    return table if head == ["number", "value"] else f"{words}:\n\n{table}"


def flattened(tree: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested names joined by a blank."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            flat |= flattened(value, f"{before}{key} ")
        else:
            flat[f"{before}{key}"] = value
    return flat


def gathered(tree: dict[str, Any]) -> dict[str, str]:
    """Nested names with their values as text; of several records one value each where they differ.

    >>> gathered({"parts": [{"T": [6, 9], "model": {"k": 16}}, {"T": [6, 9], "model": {"k": 32}}]})
    {'parts (2) T': '6, 9', 'parts (2) model k': '16 · 32'}
    """
    texts = {}
    for key, value in flattened(tree).items():
        if not is_records(value):
            several = isinstance(value, list)  # a list of choices, never an interval
            texts[key] = ", ".join(map(shown, value)) if several else shown(value)
            continue
        rows = [gathered(row) for row in value]
        for field in dict.fromkeys(field for row in rows for field in row):
            values = [row.get(field, "none") for row in rows]
            same = len(set(values)) == 1
            texts[f"{key} ({len(rows)}) {field}"] = values[0] if same else " · ".join(values)
    return texts


def is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(r, dict) for r in value)


def records(key: str, rows: list[dict[str, Any]]) -> str:
    """A table, folded away if it is long."""
    head = list(dict.fromkeys(field for row in rows for field in row))
    cells = [[shown(row.get(field)) for field in head] for row in rows[:LONGEST]]
    title = name(key)
    count = f"{len(rows)} row" + "s" * (len(rows) > 1)
    if len(rows) > LONGEST:
        count = f"the first {LONGEST} of {count}; all are in findings.json"
    words = f"{title[:1].upper()}{title[1:]} ({count})"
    return folded(words, [name(field) for field in head], cells)


def name(key: Any) -> str:
    return markdown.prose(str(key).replace("_", " "))


def shown(value: Any) -> str:
    """One value in a cell: four digits, intervals in words.

    >>> [shown(v) for v in (0.12345, [1, 2.5], True, None, float("inf"), "a|b", [[1, 2], 3.0])]
    ['0.1235', '1 to 2.5', 'yes', '–', '∞', 'a\\\\|b', '1 to 2, 3']
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if numeric(value):
        if math.isnan(value):
            return "–"
        if math.isinf(value):
            return "∞" if value > 0 else "−∞"
        return markdown.number(float(value))
    if interval(value) and value[0] <= value[1]:
        return f"{shown(value[0])} to {shown(value[1])}"
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    if isinstance(value, dict):
        return ", ".join(f"{name(key)} {shown(one)}" for key, one in value.items())
    return markdown.prose(str(value))

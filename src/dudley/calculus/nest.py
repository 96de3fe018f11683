"""Nests: what a node's ``parameters`` give and its ``apply`` takes, dictionaries in lists of lists.

>>> nest = [{"W": 1}, [{"W": 2}, {"b": 3}]]
>>> [(name_of(path), value) for path, value in entries(nest)]
[('0.W', 1), ('1.0.W', 2), ('1.1.b', 3)]
>>> filled(nest, {"0.W": "a", "1.0.W": "b", "1.1.b": "c"})
[{'W': 'a'}, [{'W': 'b'}, {'b': 'c'}]]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[int | str, ...]


def entries(nest: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every entry of a nest of dictionaries and lists, with its path."""
    if isinstance(nest, dict):
        yield from (((*path, name), value) for name, value in nest.items())
    else:
        for i, part in enumerate(nest):
            yield from entries(part, (*path, i))


def at(nest: Any, path: Path) -> Any:
    """What stands at a path in a nest."""
    for step in path:
        nest = nest[step]
    return nest


def name_of(path: Path) -> str:
    """A path as reports write it: ``0.W_v``."""
    return ".".join(map(str, path))


def filled(nest: Any, values: Mapping[str, Any], prefix: str = "") -> Any:
    """The nest with other entries, by their names after ``prefix``."""
    if isinstance(nest, dict):
        return {name: values[prefix + name] for name in nest}
    return [filled(part, values, f"{prefix}{i}.") for i, part in enumerate(nest)]

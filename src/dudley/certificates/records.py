"""Records: frozen dataclasses that stand in a certificate file as JSON objects.

Each method has records of its own for what it declares, what it chooses and what it finds. The type
of a field says what may stand there: ``bool``, ``int``, ``float``, ``str``, a ``tuple`` of one of
these (a list in JSON), a ``dict`` by names (a table), another record, a class with ``to_json`` and
``from_json``, or several of them with ``|``. What a file says is refused unless it is of this type,
before a method computes with it. A number is left as it came, so that it is written the same way.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Toy:
...     ratio: float
...     levels: tuple[int, ...] = (3, 5)
...     pool: int | None = omitted()
>>> to_json(from_json(Toy, {"ratio": 2, "levels": [3]}, "declaration", "toy"))
{'ratio': 2, 'levels': [3]}
>>> from_json(Toy, {"ratio": None}, "declaration", "toy")
Traceback (most recent call last):
dudley.core.errors.InputError: ratio of toy: expected a finite number, got None
>>> from_json(Toy, {"ratoi": 2.0}, "declaration", "toy")
Traceback (most recent call last):
dudley.core.errors.UnknownName: unknown declaration of toy 'ratoi'; did you mean ratio?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from dudley.core.boundary import limits
from dudley.core.errors import InputError, UnknownName

Record = TypeVar("Record")
ENTRIES = 256  # of a declared list; tables go by the names of matrices, however many
LARGEST = 1 << 53  # integers that floats hold


def omitted() -> Any:
    """A field that the file does not have where it is ``None``."""
    return field(default=None, metadata={"omitted": True})


def called(key: str, default: Any = MISSING) -> Any:
    """A field whose key in the file is no Python name."""
    return field(default=default, metadata={"key": key})


def to_json(record: Any) -> Any:
    """Plain data; keys in the order of the fields."""
    if hasattr(record, "to_json"):
        return record.to_json()
    if is_dataclass(record):
        values = ((f, getattr(record, f.name)) for f in fields(record))
        return {_key(f): to_json(value) for f, value in values if not _left_out(f, value)}
    if isinstance(record, Mapping):
        return {name: to_json(value) for name, value in record.items()}
    if isinstance(record, list | tuple):
        return [to_json(value) for value in record]
    return record


def from_json(kind: type[Record], table: Mapping[str, Any], what: str, method: str) -> Record:
    """The record of a table; other names, missing ones and values of another kind are refused.

    ``what`` says what an entry of the table is: a "declaration", a "choice".
    """
    known = {_key(f): f for f in fields(cast(Any, kind))}
    for name in table:
        if name not in known:
            raise UnknownName(f"{what} of {method}", str(name), known)
    needed = [key for key, f in known.items() if f.default is f.default_factory is MISSING]
    if not set(needed) <= set(table):
        raise InputError(f"{what}s of {method}", ", ".join(needed), ", ".join(table) or "none")
    types = _types(kind)
    return kind(**{
        known[name].name: _read(
            types[known[name].name], value, name, method, _most(known[name])
        )
        for name, value in table.items()
    })  # fmt: skip


def expect_kinds(record: Any, method: str, skip: frozenset[str] = frozenset()) -> None:
    """Refuse a record made in Python with a value that its file could not have.

    Lists become tuples, as in `from_json`.
    """
    types = _types(type(record))
    for f in fields(record):
        if f.name not in skip:
            value = _read(types[f.name], getattr(record, f.name), f.name, method, _most(f))
            object.__setattr__(record, f.name, value)


def _most(f: Field) -> int:
    """How many entries a list in this field may have."""
    return f.metadata.get("entries", ENTRIES)


def _read(kind: Any, value: Any, name: str, method: str, most: int) -> Any:
    """A value of this kind; a list becomes a tuple, a table a record where it is one."""
    if NoneType in _several(kind) and _fits(NoneType, value):
        return None
    for each in _several(kind):
        if each is not NoneType and hasattr(each, "from_json"):
            return each.from_json(value)
        if is_dataclass(each) and isinstance(value, Mapping):
            return from_json(cast(type, each), value, name, method)
        if _fits(each, value, most):
            return tuple(value) if get_origin(each) is tuple else value
    expected = " or ".join(_words(each) for each in _several(kind) if each is not NoneType)
    raise InputError(f"{name} of {method}", expected, repr(value))


def _several(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _fits(kind: Any, value: Any, most: int = ENTRIES) -> bool:
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        listed = isinstance(value, list | tuple) and len(value) <= most
        return listed and all(_fits(inner, entry) for entry in value)
    if get_origin(kind) is dict:
        inner, pairs = get_args(kind)[1], value.items() if isinstance(value, dict) else ()
        return isinstance(value, dict) and all(_text(n) and _fits(inner, v) for n, v in pairs)
    return KINDS[kind][0](value) if kind in KINDS else False


def _words(kind: Any) -> str:
    if get_origin(kind) is tuple:
        return f"a list of {_plural(get_args(kind)[0])}"
    if get_origin(kind) is dict:
        return f"a table of {_plural(get_args(kind)[1])}"
    return KINDS[kind][1] if kind in KINDS else "a table"


def _plural(kind: Any) -> str:
    return "plain values" if kind is Any else f"{KINDS[kind][1].removeprefix('a ')}s"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def _number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value) and abs(value) <= limits.NUMBER
    return _whole(value)


def _text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)


def _plain(value: Any) -> bool:
    return _number(value) or _text(value) or _fits(tuple[str, ...], value)


KINDS: dict[Any, tuple[Callable[[Any], bool], str]] = {
    NoneType: (lambda value: value is None, "nothing"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    int: (_whole, "a whole number"),
    float: (_number, "a finite number"),
    str: (_text, "a text"),
    Any: (_plain, "a plain value"),
}


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _key(f: Field) -> str:
    return f.metadata.get("key", f.name)


def _left_out(f: Field, value: Any) -> bool:
    return value is None and "omitted" in f.metadata

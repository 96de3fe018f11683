"""One text for one JSON value, and its sha256: what config hashes are made of.

Keys sorted, no blanks, ASCII. A number's type counts: 1 and 1.0 are two values.

>>> canonical({"m": 100, "T": (1, 2)})
'{"T":[1,2],"m":100}'
>>> digest({"m": 100})[:12]
'504c82b7ce5f'
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from dudley.core.errors import InputError

ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any, what: str = "value") -> str:
    """The text; what is not JSON is refused by its place, e.g. ``config.task.m``."""
    if not _is_plain(value):
        _refuse_other_than_json(value, what)
    return ENCODER.encode(value)


def digest(value: Any) -> str:
    """sha256 of the canonical text, 64 hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


def _is_plain(value: Any) -> bool:
    """Is it JSON of Python's own types? Told without the names of places: a grid asks often."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return True
    if kind is dict:
        for name, part in value.items():
            if type(name) is not str or not _is_plain(part):
                return False
        return True
    if kind is list or kind is tuple:
        return all(map(_is_plain, value))
    return kind is float and math.isfinite(value)


def _refuse_other_than_json(value: Any, where: str) -> None:
    match value:
        case dict():
            for name, part in value.items():
                if not isinstance(name, str):
                    raise InputError(f"a key of {where}", "a string", repr(name))
                _refuse_other_than_json(part, f"{where}.{name}")
        case list() | tuple():
            for index, part in enumerate(value):
                _refuse_other_than_json(part, f"{where}[{index}]")
        case float():
            if not math.isfinite(value):
                raise InputError(where, "a finite number", value)
        case None | bool() | int() | str():
            pass
        case _:
            expected = "JSON (dict, list, string, number, true, false or null)"
            raise InputError(where, expected, f"{value!r} of type {type(value).__name__}")


def flat(config: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested names joined by dots.

    >>> flat({"task": {"name": "and", "T": 100}, "seed": 0})
    {'task.name': 'and', 'task.T': 100, 'seed': 0}
    """
    joined: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, dict) and value:
            joined |= flat(value, f"{above}{name}.")
        else:
            joined[above + name] = value
    return joined

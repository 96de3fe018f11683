"""Declarations of the kind that a method expects: refused before a method computes with them.

The default says the kind: a number, a text, a list of one of these, a table. Where nothing is the
default (``None``), a number, a text or a list of texts may stand.

>>> expect_kind("norm-cover", "ratio", 1.4, None)
Traceback (most recent call last):
dudley.core.errors.InputError: ratio of norm-cover: expected a finite number, got None
"""

from __future__ import annotations

import math
from typing import Any

from dudley.core.boundary import limits
from dudley.core.errors import InputError

ENTRIES = 256  # of a declared list or table
LARGEST = 1 << 53  # integers that floats hold


def expect_kind(method: str, name: str, default: Any, value: Any) -> None:
    """Refuse a value of another kind than the default."""
    if default is None:
        fits, expected = value is None or _plain(value), "a number, a text or a list of texts"
    elif isinstance(default, bool):
        fits, expected = isinstance(value, bool), "true or false"
    elif isinstance(default, int):
        fits, expected = _whole(value), "a whole number"
    elif isinstance(default, float):
        fits, expected = _number(value), "a finite number"
    elif isinstance(default, str):
        fits, expected = _text(value), "a text"
    elif isinstance(default, list):
        alike = _whole if default and isinstance(default[0], int) else _text
        fits, expected = (
            _list(value, alike),
            "a list of " + ("whole numbers" if alike is _whole else "texts"),
        )
    else:
        table = isinstance(value, dict) and len(value) <= ENTRIES
        fits, expected = table and all(map(_plain, value.values())), "a table of plain values"
    if not fits:
        raise InputError(f"{name} of {method}", expected, repr(value))


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def _number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value) and abs(value) <= limits.NUMBER
    return _whole(value)


def _text(value: Any) -> bool:
    return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)


def _list(value: Any, alike: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) <= ENTRIES and all(map(alike, value))


def _plain(value: Any) -> bool:
    return _number(value) or _text(value) or _list(value, _text)

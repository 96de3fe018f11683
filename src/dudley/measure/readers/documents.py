"""JSON from a stranger: bounded in size and depth, no key twice, no NaN.

>>> parse(b'{"a": 1, "a": 2}', "config.json")
Traceback (most recent call last):
dudley.core.errors.InputError: config.json: expected JSON with every key once, got 'a' twice
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from dudley.core.errors import InputError
from dudley.measure.readers.paths import regular
from dudley.measure.readers.refusal import refusal

LARGEST = 32 * 2**20
DEEPEST = 64

# A string (possessive, so that a hostile one costs linear time) or a bracket.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


def parse(raw: bytes, file: str | Path) -> dict[str, Any]:
    """The object that the bytes hold."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refusal(file, "JSON in UTF-8", f"a wrong byte at {error.start}") from None
    _check_depth(text, file)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise refusal(file, "JSON with every key once", f"{key!r} twice")
            found[key] = value
        return found

    def number(constant: str) -> None:
        raise refusal(file, "JSON with finite numbers", constant)

    try:
        found = json.loads(text, object_pairs_hook=once, parse_constant=number)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise refusal(file, "JSON", error) from None
    if not isinstance(found, dict):
        raise refusal(file, "a JSON object", type(found).__name__)
    return found


def read(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    size = regular(path).stat().st_size
    if size > LARGEST:
        raise refusal(path, f"at most {LARGEST} bytes of JSON", f"{size}")
    try:
        return parse(path.read_bytes(), path)
    except OSError as error:
        raise refusal(path, "a readable file", error.strerror or error) from None


def _check_depth(text: str, file: str | Path) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        if (start := token[0][0]) in "[{":
            depth += 1
            if depth > DEEPEST:
                raise refusal(file, f"JSON nested at most {DEEPEST} deep", "more")
        elif start in "]}":
            depth -= 1

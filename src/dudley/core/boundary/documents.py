"""JSON and TOML from a stranger: bounded, every key once, finite numbers, text that is Unicode.

Nesting and the number of entries are counted in the text, before anything is built of it.

>>> parse(b'{"a": 1, "a": 2}', "config.json")
Traceback (most recent call last):
dudley.core.errors.InputError: config.json: expected JSON with every key once, got 'a' twice
>>> parse_toml("a" + ".a" * 70 + " = 1", "net.toml")
Traceback (most recent call last):
dudley.core.errors.InputError: net.toml: expected TOML nested at most 64 deep, got more
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

from dudley.core.boundary import limits
from dudley.core.boundary.paths import regular
from dudley.core.boundary.refusal import LONGEST, refusal
from dudley.core.boundary.text import line
from dudley.core.errors import InputError

Keys = tuple[str, ...]  # that lead to a value

# A string (possessive, so that a hostile one costs linear time), a bracket or a comma.
_JSON = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},]', re.DOTALL)
# A string of one of four kinds, a comment, a word without meaning here, or one sign with it.
_TOML = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?' + r"|'''(?:[^']|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]|\\.)*+"?' + r"|'[^'\n]*+'?" + r"|#[^\n]*+|[\w-]++|[\[\]{},=.\n]",
    re.DOTALL,
)


def parse(raw: bytes | str, file: str | Path) -> dict[str, Any]:
    """The object that JSON holds."""
    document = value_of(raw, file)
    if not isinstance(document, dict):
        raise refusal(file, "a JSON object", type(document).__name__)
    return document


def value_of(raw: bytes | str, file: str | Path, finite: bool = True) -> Any:
    """The value that JSON holds, whatever its kind; NaN and Infinity are refused if ``finite``."""
    text = _text(raw, file, "JSON", limits.JSON_BYTES)
    _expect_json_size(text, file)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table: dict[str, Any] = {}
        for key, value in pairs:
            if key in table:
                raise refusal(file, "JSON with every key once", f"{key!r} twice")
            table[key] = value
        return table

    def infinite(constant: str) -> float:
        if finite:
            raise refusal(file, "JSON with finite numbers", constant)
        return float(constant)

    try:
        value = json.loads(text, object_pairs_hook=once, parse_constant=infinite)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise refusal(file, "JSON", error) from None
    _expect_values(value, file, "JSON", finite)
    return value


def read(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    return parse(_bytes(path, "JSON", limits.JSON_BYTES), path)


def parse_toml(raw: bytes | str, file: str | Path) -> dict[str, Any]:
    """The tables that TOML holds."""
    text = _text(raw, file, "TOML", limits.TOML_BYTES)
    _expect_toml_size(text, file)
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise refusal(file, "valid TOML", "too deep a nesting") from None
    except ValueError as error:
        raise refusal(file, "valid TOML", error) from None
    _expect_values(tables, file, "TOML")
    return tables


def read_toml(path: Path) -> dict[str, Any]:
    """The tables in a TOML file."""
    return parse_toml(_bytes(path, "TOML", limits.TOML_BYTES), path)


def _bytes(path: Path, kind: str, most: int) -> bytes:
    try:
        with regular(path).open("rb") as file:
            raw = file.read(most + 1)
    except OSError as error:
        raise refusal(path, "a readable file", error.strerror or error) from None
    if len(raw) > most:
        raise refusal(path, f"at most {most} bytes of {kind}", f"{path.stat().st_size}")
    return raw


def _text(raw: bytes | str, file: str | Path, kind: str, most: int) -> str:
    if len(raw) > most:
        raise refusal(file, f"at most {most} bytes of {kind}", f"{len(raw)}")
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refusal(file, f"{kind} in UTF-8", f"a wrong byte at {error.start}") from None


def _expect_json_size(text: str, file: str | Path) -> None:
    depth = entries = 0
    for token in _JSON.finditer(text):
        start = token[0][0]
        if start in "[{":
            depth += 1
            entries += 1
        elif start in "]}":
            depth -= 1
        elif start == ",":
            entries += 1
        if depth > limits.DEPTH or entries > limits.JSON_ENTRIES:
            _refuse_size(file, "JSON", depth, limits.JSON_ENTRIES)


def _expect_toml_size(text: str, file: str | Path) -> None:
    depth = entries = parts = 0  # parts: of the dotted key that is being read
    for token in _TOML.finditer(text):
        start = token[0][0]
        if start == ".":
            parts += 1
        elif start in "[]{},=\n":
            parts = 0
            depth += (start in "[{") - (start in "]}")
            entries += start in "[{,="
        if depth + parts > limits.DEPTH or entries > limits.TOML_ENTRIES:
            _refuse_size(file, "TOML", depth + parts, limits.TOML_ENTRIES)


def _refuse_size(file: str | Path, kind: str, depth: int, entries: int) -> None:
    if depth > limits.DEPTH:
        raise refusal(file, f"{kind} nested at most {limits.DEPTH} deep", "more")
    raise refusal(file, f"{kind} of at most {entries:,} entries", "more")


def _expect_values(value: Any, file: str | Path, kind: str, finite: bool = True) -> None:
    """Texts that are Unicode and not too long, numbers that are finite and not too large."""
    waiting: list[tuple[Any, Keys]] = [(value, ())]
    while waiting:
        part, keys = waiting.pop()
        if len(keys) > limits.DEPTH:  # tables of TOML that several lines nest
            raise refusal(file, f"{kind} nested at most {limits.DEPTH} deep", "more")
        if isinstance(part, dict):
            for key, inner in part.items():
                _expect_text(key, limits.KEY, file, keys, kind)
                waiting.append((inner, (*keys, key)))
        elif isinstance(part, list):
            waiting += [(inner, keys) for inner in part]
        elif isinstance(part, str):
            _expect_text(part, limits.TEXT, file, keys, kind)
        elif finite and isinstance(part, float) and not math.isfinite(part):
            raise refusal(_place(file, keys), "a finite number", part)
        elif isinstance(part, int) and abs(part) >= limits.INTEGER:
            got = f"one of {part.bit_length()} bits"
            raise refusal(_place(file, keys), "an integer below 2^64", got)


def _expect_text(text: str, longest: int, file: str | Path, keys: Keys, kind: str) -> None:
    if len(text) > longest:
        expected = f"{kind} with texts of at most {longest:,} characters"
        raise refusal(_place(file, keys), expected, f"{len(text):,}")
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        expected = f"{kind} whose texts are Unicode"
        raise refusal(_place(file, keys), expected, "half of a surrogate pair")


def _place(file: str | Path, keys: Keys) -> str:
    return f"{file}: {line('.'.join(keys), LONGEST)}" if keys else str(file)

"""Verify: compute every field of a certificate again, and compare.

The method that a file names is called with the model, the data, and what the file says was
declared and chosen; the certificate that comes out must be the file, field by field. What is
declared enters the number, but that it was fixed before the data no one can check: it is listed.
Nothing in the file is executed, and a file that does not have the shape of a certificate is
refused. ``parts`` reads the model and the data as the method reads them: examples, or for a
language model documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dudley.certificates import data as sets, files
from dudley.certificates.auto import method_named
from dudley.certificates.base import Method, Model
from dudley.certificates.certificate import OLDER, SCHEMA
from dudley.core.boundary import documents
from dudley.core.errors import DudleyError, InputError

SHAPE: dict[str, type | tuple[type, ...]] = {
    "schema": str,
    "method": str,
    "quantity": str,
    "value": (int, float),
    "vacuous": bool,
    "delta": float,
    "declared": dict,
    "choices": dict,
    "prices": list,
    "nats": (int, float),
    "facts": dict,
    "model": dict,
    "data": dict,
    "baseline": dict,
    "advice": list,
    "declarations": list,
    "provenance": dict,
}
LANGUAGE = "language"
UNVERIFIED = ("declared", "provenance")  # enter the number, or say who made the file


@dataclass(frozen=True)
class Difference:
    """A field that is not what it should be."""

    field: str
    told: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.field}: the file says {_short(self.told)}, computed {_short(self.found)}"


@dataclass(frozen=True)
class Verification:
    """What was computed again, what differs, and what rests on the word of who declared it."""

    value: float
    recomputed: int
    differences: tuple[Difference, ...]
    declarations: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.differences


def read(path: str | Path) -> dict[str, Any]:
    """A certificate file, refused unless it has the shape of one."""
    path = Path(path)
    if not path.is_file():
        raise InputError("certificate", "a JSON file", f"no file {path}")
    return expect_shape(documents.read(path))


def expect_shape(told: Any) -> dict[str, Any]:
    """The certificate itself, if it has the fields of one and no others."""
    if not isinstance(told, dict) or told.get("schema") != SCHEMA:
        schema = str(told.get("schema")) if isinstance(told, dict) else ""
        got = f"schema {schema}" if schema in OLDER else _short(told)
        expected = f"a JSON object with schema {SCHEMA}"
        raise InputError("certificate", expected, got, OLDER.get(schema, ""))
    odd = sorted(set(told) ^ set(SHAPE))
    if odd:
        raise InputError("certificate", f"the fields {', '.join(SHAPE)}", f"{odd[0]!r} is off")
    for name, kind in SHAPE.items():
        if not isinstance(told[name], kind) or (kind is not bool and isinstance(told[name], bool)):
            raise InputError(f"{name} of the certificate", _kinds(kind), _short(told[name]))
    return told


def parts(told: dict[str, Any], model: str | Path, data: str | Path) -> tuple[Model, Any]:
    """The model and the data that a certificate is about, from their files."""
    if told["method"] == LANGUAGE:
        from dudley.certificates.methods.language import files as language

        return language.load(model), language.documents(data)
    return files.load(model), sets.read(data)


def verify(told: dict[str, Any], model: Model, data: Any) -> Verification:
    """Compute the certificate again from the model and the data, and compare every field."""
    told = expect_shape(told)
    method = _method(told["method"])
    try:
        declared = method.declared(told["declared"])
        again = method.made(model, data, declared, told["choices"])
    except DudleyError as refusal:
        return Verification(told["value"], 0, (Difference("certificate", "a number", refusal),), ())
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, ArithmeticError) as error:
        odd = Difference("choices", told["choices"], f"not choices of {method.name}: {error!r}")
        return Verification(told["value"], 0, (odd,), ())
    found = again.to_json()
    compared = [name for name in SHAPE if name not in UNVERIFIED]
    differences = [d for name in compared for d in _differences(name, told[name], found[name])]
    differences += _differences("declared", told["declared"], found["declared"])
    # Another model or other data explain every other difference, so their hashes come first.
    differences.sort(key=lambda difference: not difference.field.endswith("sha256"))
    count = sum(1 for name in compared for _ in _leaves(found[name]))
    told_so = {name: value for name, value in declared.items() if value not in ("", None, [])}
    listed = tuple(f"{name} = {_short(value)}" for name, value in told_so.items())
    return Verification(told["value"], count, tuple(differences), listed + again.declarations)


def _method(name: str) -> Method:
    if name == LANGUAGE:
        from dudley.certificates.methods.language.method import Language

        return Language()
    return method_named(name)


def _differences(where: str, told: Any, found: Any) -> Iterator[Difference]:
    if isinstance(told, dict) and isinstance(found, dict):
        for name in sorted(set(told) | set(found), key=str):
            yield from _differences(
                f"{where}.{name}", told.get(name, NOTHING), found.get(name, NOTHING)
            )
    elif isinstance(told, list) and isinstance(found, list) and len(told) == len(found):
        for i, (one, other) in enumerate(zip(told, found, strict=True)):
            yield from _differences(f"{where}[{i}]", one, other)
    elif told != found or (isinstance(told, bool) is not isinstance(found, bool)):
        yield Difference(where, told, found)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _leaves(part)
    else:
        yield value


def _kinds(kind: type | tuple[type, ...]) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return names.get(kind, "a number") if isinstance(kind, type) else "a number"


class _Nothing:
    """A field that is not there; no JSON is equal to it."""

    def __str__(self) -> str:
        return "nothing"


NOTHING = _Nothing()


def _short(value: Any) -> str:
    text = str(value) if not isinstance(value, dict | list) else json.dumps(value, default=str)
    return text if len(text) <= 90 else text[:87] + "…"

"""Verify: compute every field of a certificate again, and compare.

The method that a file names is called with the model, the data, and what the file says was
declared and chosen; the certificate that comes out must be the file, field by field. What is
declared enters the number, but that it was fixed before the data no one can check: it is listed.
Nothing in the file is executed, and a file that does not have the shape of a certificate is
refused. Counts of margins may differ where another machine's arithmetic does, within half of a
declared tolerance (`agreement`). ``parts`` reads the model and the data as the method does:
examples, or for a language model documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dudley.certificates.base import CertifiedModel, method_named
from dudley.certificates.certificate import OLDER, SCHEMA
from dudley.certificates.records import to_json
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
UNVERIFIED = ("declared", "provenance")  # enter the number, or say who made the file


@dataclass(frozen=True)
class Difference:
    """A field that is not what it should be."""

    field: str
    claimed: Any
    computed: Any

    def __str__(self) -> str:
        claimed, computed = _short(self.claimed), _short(self.computed)
        return f"{self.field}: the file says {claimed}, computed {computed}"


@dataclass(frozen=True)
class Verification:
    """What was computed again, what differs, and what no file can prove.

    ``remarks`` name counts of the file that were accepted though this machine counts otherwise.
    """

    value: float
    recomputed: int
    differences: tuple[Difference, ...]
    declarations: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.differences


def read(path: str | Path) -> dict[str, Any]:
    """A certificate file, refused unless it has the shape of one."""
    path = Path(path)
    if not path.is_file():
        raise InputError("certificate", "a JSON file", f"no file {path}")
    return expect_shape(documents.read(path))


def expect_shape(file: Any) -> dict[str, Any]:
    """The certificate itself, if it has the fields of one and no others."""
    if not isinstance(file, dict) or file.get("schema") != SCHEMA:
        schema = str(file.get("schema")) if isinstance(file, dict) else ""
        got = f"schema {schema}" if schema in OLDER else _short(file)
        expected = f"a JSON object with schema {SCHEMA}"
        raise InputError("certificate", expected, got, OLDER.get(schema, ""))
    odd = sorted(set(file) ^ set(SHAPE))
    if odd:
        raise InputError("certificate", f"the fields {', '.join(SHAPE)}", f"{odd[0]!r} is off")
    for name, kind in SHAPE.items():
        value = file[name]
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise InputError(f"{name} of the certificate", _kinds(kind), _short(value))
    return file


def parts(
    file: dict[str, Any], model: str | Path | None, data: str | Path | None
) -> tuple[CertifiedModel, Any]:
    """The model and the data that a certificate is about, from their files.

    A pass that committed to no order of its units has no data but its journal, and a table of
    outcomes has no model.
    """
    method: Any = method_named(file["method"])
    return method.read_model(model), None if data is None else method.read_data(data)


def needs_data(file: dict[str, Any]) -> bool:
    """Whether a certificate is checked against data, or against the log of a pass alone.

    `verify` compares both hashes with those of the log, so that no file can say so of itself.
    """
    return file["method"] != "prequential" or file["data"].get("sha256") != file["model"].get(
        "sha256"
    )


def verify(file: dict[str, Any], model: CertifiedModel, data: Any) -> Verification:
    """Compute the certificate again from the model and the data, and compare every field."""
    file = expect_shape(file)
    method, value = method_named(file["method"]), file["value"]
    try:
        declared = method.read_declared(file["declared"])
        choices = method.read_choices(file["choices"])
        again, remarks = method.remade(model, data, declared, choices, file["facts"])
    except DudleyError as refusal:
        return Verification(value, 0, (Difference("certificate", "a number", refusal),), ())
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, ArithmeticError) as error:
        odd = Difference("choices", file["choices"], f"not choices of {method.name}: {error!r}")
        return Verification(value, 0, (odd,), ())
    computed = again.to_json()
    compared = [name for name in SHAPE if name not in UNVERIFIED]
    differences = [d for name in compared for d in _differences(name, file[name], computed[name])]
    differences += _differences("declared", file["declared"], computed["declared"])
    # Another model or other data explain every other difference, so their hashes come first.
    differences.sort(key=lambda difference: not difference.field.endswith("sha256"))
    count = sum(1 for name in compared for _ in _leaves(computed[name]))
    plain = to_json(declared).items()
    listed = tuple(f"{name} = {_short(v)}" for name, v in plain if v not in ("", None, []))
    return Verification(value, count, tuple(differences), listed + again.declarations, remarks)


def _differences(where: str, claimed: Any, computed: Any) -> Iterator[Difference]:
    if isinstance(claimed, dict) and isinstance(computed, dict):
        for name in sorted(set(claimed) | set(computed), key=str):
            yield from _differences(
                f"{where}.{name}", claimed.get(name, NOTHING), computed.get(name, NOTHING)
            )
    elif isinstance(claimed, list) and isinstance(computed, list) and len(claimed) == len(computed):
        for i, pair in enumerate(zip(claimed, computed, strict=True)):
            yield from _differences(f"{where}[{i}]", *pair)
    elif claimed != computed or (isinstance(claimed, bool) is not isinstance(computed, bool)):
        yield Difference(where, claimed, computed)


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

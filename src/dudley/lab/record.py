"""The record of a run as its folder holds it: ``provenance.json`` and ``findings.json``, checked.

A folder may be damaged, half copied or somebody else's: a file that is no JSON, too large, a link
to elsewhere or of another shape is refused in one line. Findings may hold NaN and Infinity, which
strict JSON has not.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dudley.core.boundary import documents, limits
from dudley.core.boundary.damage import refusing
from dudley.core.boundary.paths import inside, is_plain
from dudley.core.errors import InputError
from dudley.lab.experiment import Finding

RECORD, FINDINGS = "provenance.json", "findings.json"
FIX = "remove the folder, or run the experiment again into another"
KINDS: dict[str, type] = {
    "experiment": str,
    "scale": str,
    "config": dict,
    "machine": dict,
    "precision": str,
    "src_sha256": str,
}


def provenance(folder: Path) -> dict[str, Any]:
    """What made the results of a folder."""
    record = _read(folder, RECORD)
    where = f"{folder / RECORD}"
    if not isinstance(record, dict):
        raise InputError(where, "a JSON object", type(record).__name__, FIX)
    for name, kind in KINDS.items():
        if not isinstance(record.get(name), kind):
            got = type(record.get(name)).__name__ if name in record else "nothing"
            raise InputError(f"{name} of {where}", f"a {_word(kind)}", got, FIX)
    for name in ("experiment", "scale"):
        if not is_plain(record[name]):
            expected = "letters, digits, . _ -"
            raise InputError(f"{name} of {where}", expected, ascii(record[name]), FIX)
    seconds = record.get("seconds")
    if seconds is not None and not (_is_number(seconds) and 0 <= seconds < math.inf):
        raise InputError(f"seconds of {where}", "a finite number ≥ 0", ascii(seconds), FIX)
    earlier = record.get("earlier_starts", [])
    digests = isinstance(earlier, list) and all(
        isinstance(start, dict) and isinstance(start.get("src_sha256"), str) for start in earlier
    )
    if not digests or not isinstance(record.get("unfinished", ""), str):
        expected = "starts with src_sha256, and a text where it is unfinished"
        raise InputError(where, expected, "something else", FIX)
    return record


def findings(folder: Path) -> list[Finding]:
    """The findings that a results folder holds."""
    items = _read(folder, FINDINGS)
    where = f"{folder / FINDINGS}"
    if not isinstance(items, list):
        raise InputError(where, "a list of findings", type(items).__name__, FIX)
    with refusing(where, "findings with claim, kind, verdict, readings, found and numbers", FIX):
        made = [Finding.read(item) for item in items]
    for finding in made:
        texts = (finding.claim, finding.verdict, finding.observation)
        if not all(isinstance(text, str) for text in texts) or not isinstance(
            finding.numbers, dict
        ):
            raise InputError(where, "texts, and numbers by name", "something else", FIX)
    return made


def _read(folder: Path, name: str) -> Any:
    """The JSON in a file of ordinary size in the folder."""
    path = inside(folder, name)
    with refusing(f"{path}", "JSON in UTF-8", FIX):
        if path.stat().st_size > limits.JSON_BYTES:
            raise InputError(
                f"{path}", f"at most {limits.JSON_BYTES >> 20} MiB of JSON", "more", FIX
            )
        return documents.value_of(path.read_bytes(), path, finite=False)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _word(kind: type) -> str:
    return "text" if kind is str else "JSON object"

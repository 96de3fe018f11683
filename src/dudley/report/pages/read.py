"""What a file or folder holds, as a document; files from strangers are read, never run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dudley.certify.verify import each_once
from dudley.core.errors import InputError
from dudley.core.provenance import provenance
from dudley.report.document import Document
from dudley.report.pages import (
    BUILDERS,
    audit,
    certificate,
    comparison,
    measurement,
    statement,
    tour,
)

KINDS = (audit, certificate, comparison, measurement, statement, tour)  # imported: so they register
LARGEST = 64 << 20  # bytes of JSON
WANTED = "a certificate, JSON that a command printed with --json, or the folder of an experiment"


def document_of(path: Path) -> Document:
    """The document of a file or folder."""
    if path.is_dir():
        from dudley.report.pages import experiment

        return experiment.document(path)
    return of_json(read_json(path))


def read_json(path: Path) -> Any:
    """The content of a JSON file of ordinary size."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError("report", f"at most {LARGEST >> 20} MiB of JSON", str(path))
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=each_once)
    except OSError as error:
        raise InputError("report", WANTED, f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError("report", WANTED, f"{path}, which is not JSON") from None


def of_json(told: Any) -> Document:
    """The document of a parsed file."""
    if not isinstance(told, dict):
        raise InputError("report", WANTED, type(told).__name__)
    if str(told.get("schema", "")).startswith("dudley.certificate/"):
        kind, items = "certificates", [told]
    else:
        kind, items = told.get("kind"), told.get("items")
    if not isinstance(kind, str) or not isinstance(items, list) or kind not in BUILDERS:
        known = ", ".join(sorted(BUILDERS))
        raise InputError("report", f"{WANTED} ({known})", f"kind {kind!r}")
    try:
        return BUILDERS[kind](items)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        if isinstance(error, InputError):
            raise
        got = f"one without what a report shows ({type(error).__name__}: {error})"
        raise InputError("report", f"items of kind {kind}", got) from None


def made() -> str:
    """The footer of a page."""
    return f"dudley {provenance()['dudley']}"

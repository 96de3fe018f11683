"""What a file holds, as a document; files from strangers are read, never run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dudley.certificates.certificate import SCHEMA
from dudley.core.boundary import limits
from dudley.core.boundary.damage import refusing
from dudley.core.boundary.documents import parse
from dudley.core.boundary.paths import opened
from dudley.core.errors import InputError
from dudley.show.document import Document, Notice, expect_shown
from dudley.show.pages import BUILDERS, certificate

if TYPE_CHECKING:
    from dudley.show.pages.stamp import Stamp

FAMILY = SCHEMA[: SCHEMA.index("/") + 1]  # certificates of whatever version
COMPUTED = ("comparison",)  # its bounds are computed when it is read
WANTED = "a certificate, JSON that a command printed with --json, or the folder of an experiment"


def of_file(path: Path) -> Document:
    """The document of a file; nothing is computed again."""
    return of_json(read_json(path))


def certificate_in(record: dict[str, Any]) -> dict[str, Any]:
    """The one certificate that a file holds, to be computed again."""
    items = [record] if is_certificate(record) else record.get("items")
    certificates = record.get("kind") == "certificates" or is_certificate(record)
    if not certificates or not isinstance(items, list) or len(items) != 1:
        count = len(items) if certificates and isinstance(items, list) else "none"
        raise InputError("--model and --data", "a file with one certificate", count)
    return certificate.checked(items[0])


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of ordinary size, or in a pipe."""
    try:
        with opened(path) as file:
            raw = file.read(limits.JSON_BYTES + 1)
    except OSError as error:
        raise InputError("report", WANTED, f"{path}: {error.strerror}") from None
    if len(raw) > limits.JSON_BYTES:
        raise InputError("report", f"at most {limits.JSON_BYTES >> 20} MiB of JSON", str(path))
    try:
        return parse(raw, path)
    except InputError as refusal:
        raise InputError("report", WANTED, refusal) from None


def is_certificate(record: dict[str, Any]) -> bool:
    """Does it say that it is one?"""
    return str(record.get("schema", "")).startswith(FAMILY)


def of_json(record: Any) -> Document:
    """The document of a parsed file."""
    if not isinstance(record, dict):
        raise InputError("report", WANTED, type(record).__name__)
    if is_certificate(record):
        kind, items = "certificates", [record]
    else:
        kind, items = record.get("kind"), record.get("items")
    if not isinstance(kind, str) or not isinstance(items, list) or kind not in BUILDERS:
        known = ", ".join(sorted(BUILDERS))
        raise InputError("report", f"{WANTED} ({known})", f"kind {kind!r}")
    return _as_told(built(kind, items))


def built(kind: str, items: list[Any], *stamp: Stamp) -> Document:
    """The document of items; refused where they lack what a page shows, verified or not."""
    with refusing("report", f"items of kind {kind}, with all that a report shows"):
        return expect_shown(BUILDERS[kind](items, *stamp))


def _as_told(document: Document) -> Document:
    """With a notice on numbers that were only read; a certificate and a comparison say it all."""
    if document.kind in COMPUTED or any(isinstance(b, Notice) for b in document.blocks):
        return document
    words = "Read from a file: every number on this page is what the file claims, and nothing was "
    notice = Notice(f"{words}computed again.", "claim")
    return replace(document, blocks=(notice, *document.blocks))

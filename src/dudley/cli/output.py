"""How commands speak: text for people, one JSON envelope for programs."""

from __future__ import annotations

from typing import Annotated

import typer

from dudley.core.boundary.text import json_text
from dudley.core.provenance import envelope
from dudley.show.as_text import paragraph, text
from dudley.show.document import Document

__all__ = ["Json", "paragraph", "print_document", "print_json"]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


def print_json(kind: str, items: list[dict]) -> None:
    """The envelope, alone on stdout; a number that is not finite is an error, never NaN."""
    print(json_text(envelope(kind, items)))


def print_document(document: Document) -> None:
    """The text for people."""
    print(text(document))

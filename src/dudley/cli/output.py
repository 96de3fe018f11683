"""How commands speak: text for people, one JSON envelope for programs."""

from __future__ import annotations

import json

from dudley.core.provenance import envelope


def print_json(kind: str, items: list[dict]) -> None:
    """The envelope, alone on stdout; a number that is not finite is an error, never NaN."""
    print(json.dumps(envelope(kind, items), indent=2, ensure_ascii=False, allow_nan=False))

"""Provenance: what made a result."""

from __future__ import annotations

import platform
import sys
from importlib import metadata


def provenance(command: list[str] | None = None) -> dict:
    """Versions and, if given, the command that was run."""
    return {
        "dudley": metadata.version("dudley"),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "command": list(sys.argv[1:] if command is None else command),
    }


def envelope(kind: str, items: list[dict], command: list[str] | None = None) -> dict:
    """The JSON shape of every command: schema, kind, items, provenance."""
    return {
        "schema": "dudley/1",
        "kind": kind,
        "items": items,
        "provenance": provenance(command),
    }

"""Provenance: what made a result."""

from __future__ import annotations

import platform
import sys
from functools import cache
from importlib import metadata

from dudley import __version__

COMMAND: list[str] | None = None  # what the command line was asked, set when it starts


def provenance(command: list[str] | None = None) -> dict:
    """Versions and the command that was run."""
    return {
        "dudley": __version__,
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "command": list(command or COMMAND or sys.argv[1:]),
    }


@cache
def _version(package: str) -> str:
    return metadata.version(package)


def envelope(kind: str, items: list[dict], command: list[str] | None = None) -> dict:
    """The JSON shape of every command: schema, kind, items, provenance."""
    return {
        "schema": "dudley/1",
        "kind": kind,
        "items": items,
        "provenance": provenance(command),
    }

"""Provenance: what made a result."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from functools import cache
from importlib import metadata

from dudley import __version__
from dudley.core.boundary.text import line

COMMAND: list[str] | None = None  # what the command line was asked, set when it starts


def provenance(command: list[str] | None = None) -> dict:
    """Versions and the command that was run."""
    return {
        "dudley": __version__,
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "command": [hidden(line(word)) for word in command or COMMAND or sys.argv[1:]],
    }


def hidden(word: str) -> str:
    """The same without passwords, where it is an address: neither ``user:…@`` nor ``?password=…``.

    >>> hidden("postgresql://ada:secret@db/runs?sslpassword=x&a=b#and"), hidden("a:b@c")
    ('postgresql://ada@db/runs?sslpassword=…&a=b#and', 'a:b@c')
    """
    if not re.match(r"[a-z+]+:/", word):
        return word
    word = re.sub(r"^([a-z+]+:/+[^/@:]*):.*@", r"\1@", word)
    return re.sub(r"([?&][^=&#]*pass[^=&#]*=)[^&#]*", r"\1…", word, flags=re.IGNORECASE)


def gpu_driver() -> str | None:
    """The version of the GPU's driver, or None where there is none to ask."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        output = subprocess.run(
            query, capture_output=True, text=True, timeout=60, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return output.strip().splitlines()[0]


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

"""The digest of the package's own sources: results of other code can be told apart by it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import dudley


@cache
def code_digest() -> str:
    """sha256 of the package's modules, names and contents."""
    root = Path(dudley.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()

"""What every builder needs: the registry, and the words that all pages share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dudley.core.provenance import provenance
from dudley.core.registry import Registry
from dudley.show.document import Document

Builder = Callable[[list[dict[str, Any]]], Document]
BUILDERS: Registry[Builder] = Registry("kind of report", "dudley.show.pages.*")


def made_by() -> str:
    """The last line of a page."""
    return f"dudley {provenance()['dudley']}"


def short_hash(digest: str) -> str:
    return digest[:16]

"""A lemma as a reader of the papers knows it: what it says, in words and in symbols, and whose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Lemma:
    """A statement that a proof may cite."""

    title: str
    statement: str
    latex: str
    citation: str

"""The order in which a reader meets the statements."""

from __future__ import annotations

from dudley.core.statement import Statement
from dudley.theorems import registry


def reading_order(id: str) -> tuple:
    """Papers as they are listed, 4.2 before 4.10, appendices (letters) last.

    A paper that counts its lemmas through, Lemma 1, Lemma 2, numbers equations and sections with
    dots; these come first, since its preliminaries have no lemmas.

    >>> names = "lemma-A", "lemma-4.10", "lemma-4.2", "lemma-1", "equation-3.2"
    >>> sorted((f"trauger2024/{name}" for name in names), key=reading_order)
    ['trauger2024/equation-3.2', 'trauger2024/lemma-4.2', 'trauger2024/lemma-4.10',
     'trauger2024/lemma-1', 'trauger2024/lemma-A']
    """
    paper, _, rest = id.partition("/")
    kind, _, number = rest.partition("-")
    parts = [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in number.split(".")]
    counted_through = number.isdigit() and kind not in ("equation", "section")
    group = 2 if number[0].isalpha() else int(counted_through)
    return [*registry.SHIPPED, *registry.PAPERS].index(paper), group, parts, rest


def in_reading_order() -> list[Statement]:
    """Every statement of every paper."""
    statements = [s for _, s in registry.load().items()]
    return sorted(statements, key=lambda s: reading_order(s.id))

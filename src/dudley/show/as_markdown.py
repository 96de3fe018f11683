"""A document as GitHub-flavoured Markdown: charts become the tables of their ends."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dudley.core.boundary.text import screen
from dudley.show import document as doc
from dudley.show.formulas import is_mathematics
from dudley.show.markdown import display, prose, table


def markdown(document: doc.Document) -> str:
    """The whole text.

    >>> print(markdown(doc.Document("Found", (doc.Table.of(["n"], [["a|b"]]),), ("n = 3",))))
    # Found
    <BLANKLINE>
    n = 3
    <BLANKLINE>
    | n |
    | --- |
    | a\\|b |
    <BLANKLINE>
    """
    parts = [f"# {prose(document.title)}"]
    if document.lead:
        parts.append(" · ".join(map(prose, document.lead)))
    parts += below(document.blocks, 2)
    if document.made:
        parts.append(f"*{prose(document.made)}*")
    return "\n\n".join(parts) + "\n"


def below(blocks: Sequence[doc.DocumentBlock], level: int) -> list[str]:
    """Each block as text."""
    parts = []
    for block in blocks:
        match block:
            case doc.Section():
                parts.append(f"{'#' * level} {prose(block.title)}")
                parts += below(block.blocks, level + 1)
            case doc.Folded():
                parts.append(f"**{prose(block.title)}**")
                parts += below(block.blocks, level + 1)
            case doc.Chart():
                parts.append(single(block.ends()))
            case _:
                parts.append(single(block))
    return list(filter(None, parts))


def single(block: doc.DocumentBlock) -> str:
    """A block that holds no others."""
    match block:
        case doc.Prose(text):
            return prose(text)
        case doc.Notice(text):
            return f"> **{prose(text)}**"
        case doc.Formula(latex):
            one_line = " ".join(latex.split())
            return display(one_line) if is_mathematics(one_line) else listing(latex)
        case doc.Listing(text):
            return listing(text)
        case doc.Points(lines):
            return "\n".join(f"- {prose(line)}" for line in lines)
        case doc.Properties(rows):
            return "\n".join(f"- **{prose(name)}**: {prose(text)}" for name, text in rows)
        case doc.Table():
            rows = [[prose(cell.text) for cell in row] for row in block.rows]
            return table([prose(head) for head in block.heads], rows)
        case doc.Picture():
            return f"*{prose(block.caption or block.alt)}*"
        case _:
            raise TypeError(f"no block: {type(block).__name__}")


def listing(text: str) -> str:
    """Text as it is, in a fence longer than any that stands in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{fence}text\n{screen(text)}\n{fence}"

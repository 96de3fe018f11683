"""A document as text for a terminal: it fits the width, and no sign of it steers the terminal.

Blocks of a section are indented by two below its heading. A table that is too wide loses one of the
two spaces between its columns; then its first column gets lines of its own; where it is still too
wide, each cell stands on a line after its head. The last column may hold sentences, which are
broken below themselves. A chart becomes the table of its ends; what is folded away on a page is
shown.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Sequence

from dudley.core.boundary.text import line, screen
from dudley.show import document as doc

WIDEST = 120  # longer lines are hard to read
NAMES = 20  # columns for the names of properties, and a space after them
SENTENCE = 24  # columns below which a sentence is not broken any more
_BREAKS = re.compile(
    r"(?=[+=])|(?<=\}\{)|(?<=:)|(?<=,\\ )"
    r"|(?=\\(?:quad|qquad|le|frac|tfrac|sum|inf|int|min|max|log|sqrt|text|[bB]igl|Delta)(?![a-z]))"
)


def text(document: doc.Document) -> str:
    """The whole text.

    >>> rows = [["a", doc.Cell("10", 10.0)], ["bcd", doc.Cell("2", 2.0)]]
    >>> print(text(doc.Document("Found", (doc.Section("All", (doc.Table.of(["", "n"], rows),)),))))
    Found
    <BLANKLINE>
    All
             n
      a     10
      bcd    2
    """
    title = [paragraph(document.title)] if document.title else []
    made = ["", paragraph(document.made)] if document.made else []
    lead = [paragraph(words) for words in document.lead]
    return "\n".join(_below(document.blocks, 0, [*title, *lead]) + made)


def _below(blocks: Sequence[doc.DocumentBlock], indent: int, lines: list[str]) -> list[str]:
    """The lines above, and those of the blocks; a blank line stands above each section."""
    for block in blocks:
        match block:
            case doc.Section(title, inside) | doc.Folded(title, inside):
                colon = ":" if isinstance(block, doc.Folded) else ""
                blank = [""] if lines else []
                head = [paragraph(title + colon, indent + 2, " " * indent)] if title else []
                lines = lines + blank + _below(inside, indent + 2 * bool(title), head)
            case _:
                lines = lines + _lines(block, indent)
    return lines


def _lines(block: doc.DocumentBlock, indent: int) -> list[str]:
    """A block that holds no others."""
    space = " " * indent
    match block:
        case doc.Prose(words) | doc.Notice(words):
            return [paragraph(_plain(words), indent, space)]
        case doc.Formula(latex):
            return [formula(latex, indent)]
        case doc.Listing(words):
            return [(space + each).rstrip() for each in screen(words).split("\n")]
        case doc.Points(points, mark):
            first = f"{space}{mark} " if mark else space
            return [paragraph(_plain(words), indent + 2, first) for words in points]
        case doc.Properties(rows):
            names = [line(name) for name, _ in rows]
            column = max(NAMES, *(indent + len(name) for name in names)) + 1 if rows else 0
            return [
                paragraph(_plain(words), column, (space + name).ljust(column))
                for name, (_, words) in zip(names, rows, strict=True)
            ]
        case doc.Table():
            return _table(block, indent)
        case doc.Chart():
            return _table(block.ends(), indent)
        case doc.Picture():
            return [paragraph(_plain(block.caption or block.alt), indent, space)]
        case _:
            raise TypeError(f"no block: {type(block).__name__}")


def _table(table: doc.Table, indent: int) -> list[str]:
    heads = [line(head) for head in table.heads]
    rows = [[line(_plain(cell.text)) for cell in row] for row in table.rows]
    right = set(table.numbers)
    if not rows:
        return []
    return (
        _columns(heads, rows, right, indent)
        or _columns(heads, rows, right, indent, gap=1)
        or _stacked(heads, rows, right, indent)
        or _listed(heads, rows, indent)
    )


def _columns(
    heads: list[str], rows: list[list[str]], right: set[int], indent: int, gap: int = 2
) -> list[str] | None:
    """Aligned columns with ``gap`` spaces between them, or None where they are too wide."""
    sizes = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    last = len(sizes) - 1
    room = width() - indent - sum(sizes[:last]) - gap * last
    longest = max(len(word) for row in rows for word in row[last].split(" "))
    if room < (sizes[last] if last in right else min(sizes[last], max(longest, SENTENCE))):
        return None
    lines = []
    for cells in ([heads] if any(heads) else []) + rows:
        aligned = [
            cell.rjust(size) if i in right else cell.ljust(size)
            for i, (cell, size) in enumerate(zip(cells, sizes, strict=True))
        ]
        first = " " * indent + "".join(cell + " " * gap for cell in aligned[:last])
        lines.append(paragraph(aligned[last].rstrip(), len(first), first).rstrip())
    return lines


def _stacked(
    heads: list[str], rows: list[list[str]], right: set[int], indent: int
) -> list[str] | None:
    """The first column on lines of its own, each above the rows that share it."""
    if len(heads) < 3:
        return None
    under = _columns(heads[1:], [row[1:] for row in rows], {i - 1 for i in right}, indent + 2)
    if under is None:
        return None
    lines = under[: len(under) - len(rows)]
    above = None
    for row, cells in zip(rows, under[len(lines) :], strict=True):
        lines += [] if row[0] == above else [paragraph(row[0], indent, " " * indent)]
        lines.append(cells)
        above = row[0]
    return lines


def _listed(heads: list[str], rows: list[list[str]], indent: int) -> list[str]:
    """Each cell on a line, after its head."""
    lines = []
    for first, *others in rows:
        lines.append(paragraph(first, indent, " " * indent))
        for head, words in zip(heads[1:], others, strict=True):
            label = f"{head}: " if head else ""
            if words:
                lines.append(paragraph(words, indent + 4, " " * (indent + 2) + label))
    return lines


def _plain(words: str) -> str:
    """Text without the double backquotes that mark code."""
    return re.sub(r"``([^`]+)``", r"\1", words)


def width() -> int:
    """How wide text may be: the terminal, or 100 where there is none."""
    return max(40, min(WIDEST, shutil.get_terminal_size((100, 24)).columns))


def paragraph(words: str, indent: int = 2, first: str = "") -> str:
    """Prose after ``first``, broken at spaces to fit; the next lines are indented.

    A line break in the text becomes a space: what stands on a line of its own is ours.
    """
    words = line(words.replace("\n", " "))
    if len(first) + len(words) <= width():
        return first + words
    wrapped = textwrap.wrap(
        words,
        width(),
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(wrapped)


def formula(latex: str, indent: int = 2) -> str:
    """LaTeX on lines that fit, broken only where mathematics reads well: before a sign or a term.

    >>> formula(r"a+b")
    '  a+b'
    """
    lines = [""]
    for piece in re.split(_BREAKS, screen(latex)):
        if lines[-1] and indent + len(lines[-1]) + len(piece) > width():
            lines.append("")
        lines[-1] += piece
    return "\n".join(" " * indent + line for line in lines)

"""How commands speak: text for people, one JSON envelope for programs."""

from __future__ import annotations

import re
import shutil
import textwrap
from typing import Annotated

import typer

from dudley.core.boundary.text import json_text, line
from dudley.core.provenance import envelope

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
WIDEST = 120  # longer lines are hard to read
_BREAKS = re.compile(
    r"(?=[+=])|(?<=\}\{)|(?<=:)|(?<=,\\ )"
    r"|(?=\\(?:quad|qquad|le|frac|tfrac|sum|inf|int|min|max|log|sqrt|text|[bB]igl|Delta)(?![a-z]))"
)


def print_json(kind: str, items: list[dict]) -> None:
    """The envelope, alone on stdout; a number that is not finite is an error, never NaN."""
    print(json_text(envelope(kind, items)))


def width() -> int:
    """How wide text may be: the terminal, or 100 where there is none."""
    return max(40, min(WIDEST, shutil.get_terminal_size((100, 24)).columns))


def paragraph(text: str, indent: int = 2, first: str = "") -> str:
    """Prose after ``first``, broken at spaces to fit; the next lines are indented.

    A line break in the text becomes a space: what stands on a line of its own is ours.
    """
    text = line(text.replace("\n", " "))
    if len(first) + len(text) <= width():
        return first + text
    wrapped = textwrap.wrap(
        text,
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
    for piece in re.split(_BREAKS, latex):
        if lines[-1] and indent + len(lines[-1]) + len(piece) > width():
            lines.append("")
        lines[-1] += piece
    return "\n".join(" " * indent + line for line in lines)

"""One line for whatever is refused: the file, the tensor, what was expected, what came.

A name inside a hostile file may hold anything, so it is printed escaped and shortened.

>>> raise refusal("model.safetensors", "a known dtype", "F13", "W\\x1b[31m")
Traceback (most recent call last):
dudley.core.errors.InputError: model.safetensors: tensor 'W\\x1b[31m': expected a known dtype, got
F13
"""

from __future__ import annotations

import os

from dudley.core.errors import InputError

LONGEST = 160


def shown(text: object) -> str:
    """A text of unknown origin, printable and on one line.

    >>> shown("a" * 500) == "a" * 159 + "…"
    True
    """
    text = str(text)
    cut = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def printable(text: str, also: str = "") -> str:
    """A text of unknown origin that steers no terminal; characters in ``also`` stay.

    >>> printable("a\\x1b[2J\\nb", "\\n")
    'a?[2J\\nb'
    """
    return "".join(c if c.isprintable() or c in also else "?" for c in text)


def refusal(
    file: str | os.PathLike, expected: str, got: object, tensor: str | None = None, fix: str = ""
) -> InputError:
    """The error that names file and tensor."""
    place = printable(str(file))
    if tensor is not None:
        place += f": tensor '{shown(tensor)}'"
    return InputError(place, expected, shown(got), fix)

"""Every refusal says what was expected, what came, and what to do.

All of them are :class:`DudleyError`; the command line turns them into one line and exit code 2.
What came may be a stranger's text: `boundary.text.line` spells out what would steer a terminal.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dudley.core.boundary.text import line


class DudleyError(Exception):
    """A refusal: bad input never produces a number."""


class InputError(DudleyError, ValueError):
    """An input that is missing, ill-typed or out of range.

    >>> raise InputError("radius of W_v", "a finite number ≥ 0", -1.0)
    Traceback (most recent call last):
    dudley.core.errors.InputError: radius of W_v: expected a finite number ≥ 0, got -1.0
    """

    def __init__(self, what: str, expected: str, got: object, fix: str = "") -> None:
        came = _shortened(got)
        message = f"{what}: expected {expected}, got {came}" + (f"; {fix}" if fix else "")
        super().__init__(line(message))


def _shortened(got: object) -> str:
    """What came, in a few words and on one line; a refusal whole, for it ends with what to do."""
    if isinstance(got, DudleyError):
        return " ".join(str(got).split())
    if isinstance(got, int) and abs(got) >= 10**20:
        return f"an integer of {got.bit_length()} bits"
    text = " ".join(str(got).split())
    return text if len(text) <= 120 else text[:117] + "…"


class UnknownName(DudleyError, KeyError):
    """A name that no registry or vocabulary holds; the nearest ones are named.

    With ``all_named`` the others follow: for a list that is short and worth knowing.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], all_named: bool = False) -> None:
        known = sorted(known)
        if all_named:
            known.sort(key=lambda other: -difflib.SequenceMatcher(None, name, other).ratio())
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        some = ", ".join(known) if len(known) <= 24 else f"{', '.join(known[:12])}, …"
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {some}"
        if near and all_named:
            hint += f" known: {some}"
        self.message = line(f"unknown {kind} {_shortened(repr(name))}; {hint}")
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class NotYetPaid(DudleyError):
    """A number read off after seeing the data was used as if it had been fixed before."""

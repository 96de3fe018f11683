"""What goes wrong inside a damaged file, or on a full disk, is a refusal and no error of ours."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from dudley.core.boundary.text import line
from dudley.core.errors import DudleyError, InputError

# What code that trusts the types and names of a file raises where they are others.
DAMAGE = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError, RecursionError,
    NotImplementedError, MemoryError,
)  # fmt: skip
DISK = {  # what a place to write to lacks, and what to do
    errno.ENOSPC: "make room, or name another place",
    errno.EDQUOT: "make room, or name another place",
    errno.EFBIG: "make room, or name another place",
    errno.EROFS: "name a place that can be written to",
    errno.EACCES: "name a place that can be written to",
    errno.EPERM: "name a place that can be written to",
}


@contextmanager
def refusing(what: str, expected: str, fix: str = "") -> Iterator[None]:
    """Around whatever reads ``what``, and nothing else.

    >>> with refusing("findings.json", "a list of findings"):
    ...     {}["claim"]
    Traceback (most recent call last):
    dudley.core.errors.InputError: findings.json: expected a list of findings, got KeyError: 'claim'
    """
    try:
        yield
    except DudleyError:
        raise
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno in DISK:
            raise  # not the fault of what is read
        raise InputError(what, expected, f"{type(error).__name__}: {error}", fix) from error


def refusal_of(error: OSError) -> str:
    """One line for what the system refuses, with what to do where that is known.

    >>> refusal_of(OSError(errno.ENOSPC, "No space left on device", "runs/store.sqlite"))
    'runs/store.sqlite: No space left on device; make room, or name another place'
    """
    where = f"{line(error.filename, 160)}: " if error.filename else ""
    remedy = f"; {DISK[error.errno]}" if error.errno in DISK else ""
    return f"{where}{line(error.strerror or error)}{remedy}"

"""The command line: thin commands over the library.

Exit codes: 0 fine · 1 the answer is no · 2 bad usage or bad input · 3 undecided within the budget
· 70 internal error · 130 interrupted. With ``--json`` the answer stands alone on stdout.
"""

from __future__ import annotations

import contextlib
import os
import sys

import typer

from dudley.cli.app import app
from dudley.cli.streams import screened
from dudley.core import provenance
from dudley.core.boundary.damage import refusal_of
from dudley.core.boundary.text import line
from dudley.core.errors import DudleyError, InputError


def main(args: list[str] | None = None) -> None:
    """Run a command and exit; refusals are one line on stderr, never a traceback."""
    words = sys.argv[1:] if args is None else args
    provenance.COMMAND = list(words)
    try:
        with screened():
            _run(words)
    except OSError as error:  # what was printed could not be written: a full disk
        _leave(f"dudley: output: {error.strerror or error}", 2)


def _run(words: list[str]) -> None:
    try:
        if "" in words:
            fix = "is a variable of the shell not set?"
            raise InputError("argument", "a path, a name or a value", "an empty text", fix)
        code = app(args=words, prog_name="dudley", standalone_mode=False)
    except DudleyError as error:
        _leave(f"dudley: {error}", 2)
    except (KeyboardInterrupt, typer.Abort):
        _leave("dudley: interrupted", 130)
    except OSError as error:  # a name too long, a disk that is full or may not be written
        _leave(f"dudley: {refusal_of(error)}", 2)
    except MemoryError:
        _leave("dudley: this input needs more memory than there is", 2)
    except Exception as error:
        told = getattr(error, "format_message", None)  # the parser's own refusals have one
        if told is not None and type(error).__name__ == "NoArgsIsHelpError":
            print(told(), file=sys.stderr)
            raise SystemExit(2) from None
        if told is not None:
            _leave(f"dudley: {' '.join(told().split()).rstrip('.')}; see dudley --help", 2)
        if os.environ.get("DUDLEY_DEBUG"):
            raise
        name = type(error).__name__
        _leave(f"dudley: internal error ({name}: {error}); set DUDLEY_DEBUG=1 for a traceback", 70)
    else:
        raise SystemExit(code if isinstance(code, int) else 0)


def _leave(message: str, code: int):
    with contextlib.suppress(OSError):  # the exit code tells it where the message cannot
        print(line(message), file=sys.stderr, flush=True)
    raise SystemExit(code) from None

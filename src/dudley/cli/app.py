"""The application: commands that are imported when they are called, and how a command ends.

A file ``commands/NAME.py`` makes the command NAME, ``-`` for ``_``: it holds a function of that
name, or a Typer with commands inside. Nothing else has to know of it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.completion
import typer.main
from typer.core import TyperGroup

from dudley import __version__
from dudley.cli.streams import screen_streams
from dudley.core import provenance
from dudley.core.boundary.damage import refusal_of
from dudley.core.boundary.text import line
from dudley.core.errors import DudleyError, InputError
from dudley.core.registry import modules_of

# The order of `dudley --help`; a command that is not named here comes after these.
ORDER = (
    "derive", "evaluate", "audit", "compare", "construct", "measure", "verify", "report", "serve",
    "tour", "theorems", "certify", "lab",
)  # fmt: skip

COMPLETION = "_DUDLEY_COMPLETE"  # how a shell asks which words may follow


class Commands(Mapping[str, Any]):
    """The commands by name; the file of a command is imported when it is looked up."""

    @cached_property
    def _modules(self) -> dict[str, str]:
        files = {m.rpartition(".")[2]: m for m in modules_of("dudley.cli.commands.*")}
        modules = {name.replace("_", "-"): m for name, m in files.items()}
        first = {name: modules.pop(name) for name in ORDER if name in modules}
        return first | modules

    def __getitem__(self, name: str) -> Any:
        command = getattr(import_module(self._modules[name]), name.replace("-", "_"))
        holder = typer.Typer(rich_markup_mode=None)
        if isinstance(command, typer.Typer):
            holder.add_typer(command, name=name)
        else:
            holder.command(name)(command)
        return typer.main.get_group(holder).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class LazyGroup(TyperGroup):
    """A group that lists its commands without importing them."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self.commands: Any = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


app = typer.Typer(
    name="dudley",
    cls=LazyGroup,
    help="The generalization theory of Transformers, executable.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"dudley {__version__}")
        raise typer.Exit()


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The generalization theory of Transformers, executable."""


def main(args: list[str] | None = None) -> None:
    """Run a command and exit; refusals are one line on stderr, never a traceback."""
    words = sys.argv[1:] if args is None else args
    provenance.COMMAND = list(words)
    try:
        with screen_streams():
            _run(words)
    except OSError as error:  # what was printed could not be written: a full disk
        _leave(f"dudley: output: {error.strerror or error}", 2)


def _run(words: list[str]) -> None:
    try:
        if "" in words:
            fix = "is a variable of the shell not set?"
            raise InputError("argument", "a path, a name or a value", "an empty text", fix)
        if COMPLETION in os.environ:
            # Else typer knows no shell.
            typer.completion.completion_init()  # pyright: ignore[reportPrivateImportUsage]
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
        message = getattr(error, "format_message", None)  # the parser's own refusals have one
        if message is not None and type(error).__name__ == "NoArgsIsHelpError":
            print(message(), file=sys.stderr)
            raise SystemExit(2) from None
        if message is not None:
            _leave(f"dudley: {' '.join(message().split()).rstrip('.')}; see dudley --help", 2)
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

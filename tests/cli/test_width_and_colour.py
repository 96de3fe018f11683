"""Help is whole at 80 columns; colour is off where NO_COLOR is set."""

from __future__ import annotations

import io
import re
import sys

import pytest
import typer.main

from dudley.cli import progress
from dudley.cli.app import app

WIDTH = 80
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d)[;\dm]")


def every_command(group, path=("dudley",), above=None) -> dict[str, str]:
    """The help of each command and group by its name."""
    context = group.context_class(
        group, info_name=path[-1], parent=above, terminal_width=WIDTH, max_content_width=WIDTH
    )
    pages = {" ".join(path): group.get_help(context)}
    for name in group.list_commands(context) if hasattr(group, "list_commands") else ():
        pages |= every_command(group.get_command(context, name), (*path, name), context)
    return pages


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return every_command(typer.main.get_command(app))


def test_the_walk_finds_groups_and_their_commands(pages):
    assert {"dudley", "dudley derive", "dudley certify model", "dudley lab run"} <= set(pages)


def test_help_fits_into_eighty_columns(pages):
    wide = [(name, line) for name, page in pages.items() for line in page.splitlines()
            if len(line) > WIDTH]  # fmt: skip
    assert wide == []


def cut(page: str) -> list[str]:
    """The summaries of commands that do not end as a sentence does."""
    listed = page.partition("Commands:\n")[2]
    entries = re.split(r"\n(?=  \S)", listed) if listed else []
    return [entry for entry in entries if not re.search(r"[^.]\.\s*$", entry)]


def test_no_summary_is_cut(pages):
    assert {name: cut(page) for name, page in pages.items() if cut(page)} == {}


def test_a_cut_summary_would_be_seen():
    assert cut("Commands:\n  one  It is whole.\n  two  It\n       is, too.\n") == []
    for end in ("...", "…", ""):
        assert cut(f"Commands:\n  one  It is whole.\n  two  It is cut{end}") != []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def spinner(monkeypatch, **environment: str) -> str:
    """What the spinner of a long command writes to a terminal."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **environment}.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.watch_steps(0.0, every=0.01) as watch:
        watch.do("compression", lambda: None)
    return terminal.getvalue()


def test_colour_is_for_terminals_that_want_it(monkeypatch):
    assert COLOUR.search(spinner(monkeypatch))
    plain = spinner(monkeypatch, NO_COLOR="1")
    assert "compression" in plain and not COLOUR.search(plain)


@pytest.mark.parametrize("command", [("--help",), ("plan-test", "--error", "0.01")])
def test_what_a_command_prints_has_no_colour(dudley, command):
    assert "\x1b" not in dudley(*command).out

"""What a page shows: its blocks, the files it writes down, its commands with their output.

A `text` block holds what the `python` block before it prints. In a `console` block a line that
starts with `$ ` is a command, which goes on after a backslash at its end; the lines after it, if
any, are its output, where a line `…` stands for any lines. A block of another kind whose first
line is a comment with a file's name, `# net.toml`, is that file.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path

import pytest

from dudley.cli import main
from dudley.cli.progress import MARK

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# ([\w-]+\.\w+)\n")
# What only a shell can do, and a file of Python, whose code would stay with the other tests.
NEEDS_A_PROCESS = re.compile(r"[|<>;&$`*]|\.py\b|^(?!dudley )")


def printed(text: str) -> list[tuple[str, str]]:
    """Each Python block with the text block that follows it."""
    return [
        (code, shown)
        for (a, code), (b, shown) in pairwise(BLOCK.findall(text))
        if (a, b) == ("python", "text")
    ]


def files(text: str) -> dict[str, str]:
    """Every file that the page writes down, by its name."""
    named = [(NAMED.match(body), body) for kind, body in BLOCK.findall(text) if kind != "python"]
    return {match[1]: body for match, body in named if match}


def sessions(text: str, program: str | None = "dudley") -> list[tuple[str, str]]:
    """(command, shown output) of every `$ dudley …`, or of every command, in the console blocks."""
    commands = []
    for kind, body in BLOCK.findall(text):
        if kind != "console":
            continue
        whole = re.sub(r" \\\n *", " ", body)
        for part in re.split(r"^\$ ", whole, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            if program is None or command.split()[0] == program:
                commands.append((command, shown.strip("\n")))
    return commands


def run_command(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a command leaves in a folder: in this process where that shows the same, else in bash.

    bash finds `dudley` in the folder `.bin`, if the folder has one.
    """
    if NEEDS_A_PROCESS.search(command):
        return run_process(folder, "bash", "-c", command)
    words, code = shlex.split(command, comments=True), 0
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, chdir(folder):
        patch.setenv("COLUMNS", "100")  # as where there is no terminal
        patch.delenv("DUDLEY_DEBUG", raising=False)
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main(words[1:])
            except SystemExit as leaving:
                code = leaving.code or 0
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def run_process(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "DUDLEY_DEBUG")}
    env |= {"PYTHONIOENCODING": "utf-8", "PATH": f"{folder / '.bin'}:{env['PATH']}"}
    return subprocess.run(
        words, capture_output=True, text=True, encoding="utf-8", timeout=600, cwd=folder, env=env
    )


def agrees(shown: str, printed: str) -> bool:
    """Is the printed text the shown one, where a line `…` stands for any lines?"""
    pattern = "\n".join(
        r"(?:.*\n)*?.*" if line.strip() == "…" else re.escape(line.rstrip())
        for line in shown.splitlines()
    )
    lines = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, lines) is not None


def complaints(stderr: str) -> str:
    """What stands on stderr beside the progress of a long command."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith(MARK))

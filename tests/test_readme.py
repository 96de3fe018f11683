"""README shows what the program prints: its first block, and every `$ dudley` command."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from shown import BLOCK, agrees, complaints, sessions

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = BLOCK.findall(README)


def output_of(*args: str) -> str:
    """What a Python of its own prints; it must leave with 0 and complain of nothing."""
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "DUDLEY_DEBUG")}
    done = subprocess.run(
        [sys.executable, *args],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        env=env | {"PYTHONIOENCODING": "utf-8"},
    )
    assert (done.returncode, complaints(done.stderr)) == (0, "")
    return done.stdout


def test_the_first_block_prints_what_the_second_shows():
    (kind, code), (then, shown) = BLOCKS[0], BLOCKS[1]
    assert (kind, then) == ("python", "text")
    assert output_of("-c", code) == shown


def test_the_first_screen_is_one_sentence_ten_lines_and_their_output():
    before = README.partition("```python")[0]
    title, sentence = [part for part in before.split("\n\n") if part.strip()]
    assert title == "# dudley" and "\n" not in sentence.strip()
    assert len(BLOCKS[0][1].splitlines()) <= 12


@pytest.mark.parametrize(("command", "shown"), sessions(README), ids=lambda text: text[:40])
def test_a_command_prints_what_is_shown(command: str, shown: str):
    words = shlex.split(command, comments=True)
    printed = output_of("-m", "dudley", *words[1:])
    assert not shown or agrees(shown, printed), printed


def test_the_readme_shows_a_command():
    assert sessions(README)


def test_every_python_block_runs():
    """The later blocks go on from the first one."""
    code = "\n".join(body for kind, body in BLOCKS if kind == "python")
    assert output_of("-c", code).startswith(BLOCKS[1][1])


def test_the_comparison_can_fail():
    assert agrees("a\n…\nz", "a\nb\nc\nz\n") and agrees("a\nb", "a\nb\n") and agrees("…", "a\nb")
    assert not agrees("a\n…\ny", "a\nb\nz\n")
    assert not agrees("a", "a\nb") and not agrees("a.c", "abc") and not agrees("b\n…", "a\nb\nc")
    text = "```console\n$ make test\n$ dudley tour\nx\n$ dudley derive y\n```\n"
    assert sessions(text) == [("dudley tour", "x"), ("dudley derive y", "")]

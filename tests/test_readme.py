"""README shows what the program prints: its first block, and every `$ dudley` command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shown import BLOCK, agrees, complaints, run_command, sessions

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = BLOCK.findall(README)


def test_every_python_block_runs_and_the_first_prints_what_the_second_shows():
    """In a process of their own, one after the other: the later blocks go on from the first."""
    (kind, _), (then, shown) = BLOCKS[0], BLOCKS[1]
    assert (kind, then) == ("python", "text")
    code = "print(end='\\0')\n".join(body for kind, body in BLOCKS if kind == "python")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.partition("\0")[0] == shown


def test_the_first_screen_is_one_sentence_ten_lines_and_their_output():
    before = README.partition("```python")[0]
    title, sentence = [part for part in before.split("\n\n") if part.strip()]
    assert title == "# dudley" and "\n" not in sentence.strip()
    assert len(BLOCKS[0][1].splitlines()) <= 12


@pytest.mark.parametrize(("command", "shown"), sessions(README), ids=lambda text: text[:40])
def test_a_command_prints_what_is_shown(command: str, shown: str, tmp_path: Path):
    done = run_command(command, tmp_path)
    assert (done.returncode, complaints(done.stderr)) == (0, "")
    assert not shown or agrees(shown, done.stdout), done.stdout


def test_the_readme_shows_a_command():
    assert sessions(README)


def test_the_comparison_can_fail():
    assert agrees("a\n…\nz", "a\nb\nc\nz\n") and agrees("a\nb", "a\nb\n") and agrees("…", "a\nb")
    assert not agrees("a\n…\ny", "a\nb\nz\n")
    assert not agrees("a", "a\nb") and not agrees("a.c", "abc") and not agrees("b\n…", "a\nb\nc")
    text = "```console\n$ make test\n$ dudley tour\nx\n$ dudley derive y\n```\n"
    assert sessions(text) == [("dudley tour", "x"), ("dudley derive y", "")]

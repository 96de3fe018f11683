"""A command loads what it needs, and a file makes a command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dudley.cli.app import ORDER, Commands
from dudley.networks.files import EXAMPLES

MOST = 20  # modules of the command line and of what shows results, for one certificate
PRINTED = """
import sys
from dudley.cli import main
try:
    main(sys.argv[1:])
finally:
    loaded = [m for m in sys.modules if m.startswith(("dudley.cli", "dudley.show"))]
    print("\\n".join(sorted(loaded)), file=sys.stderr)
"""


def python(*words: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, encoding="utf-8", timeout=120,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | environment,
    )  # fmt: skip


def test_a_certificate_loads_no_other_command():
    model, data = (
        str(EXAMPLES / "sparse-and" / name) for name in ("model.safetensors", "train.npz")
    )
    words = ("certify", "model", model, "--method", "hold-out", "--holdout", data)
    done = python("-c", PRINTED, *words)
    assert done.returncode == 0, done.stderr
    loaded = done.stderr.split()
    assert [m for m in loaded if m.startswith("dudley.cli.commands.")] == [
        "dudley.cli.commands.certify"
    ]
    assert len(loaded) <= MOST, loaded


def test_the_commands_are_listed_in_their_order():
    """Those that the package names come first; a file that is added comes after them."""
    assert list(Commands())[: len(ORDER)] == list(ORDER)


def test_a_file_makes_a_command_which_is_listed_last(tmp_path: Path, monkeypatch):
    from dudley.cli import commands

    text = '"""A command."""\n\n\ndef greet() -> None:\n    """Greet."""\n    print("hello")\n'
    (tmp_path / "greet.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    listed = Commands()
    assert list(listed)[: len(ORDER)] == list(ORDER) and "greet" in list(listed)[len(ORDER) :]
    assert listed["greet"].get_short_help_str() == "Greet."
    sys.modules.pop("dudley.cli.commands.greet")


def test_a_command_that_is_misspelt_is_guessed(dudley):
    assert "Did you mean 'compare'?" in dudley("comparr").refused()


@pytest.mark.parametrize(
    ("words", "answer"),
    [("dudley de", "derive"), ("dudley lab st", "status"), ("dudley derive --ch", "--checkpoint")],
)
def test_a_shell_can_complete_a_word(words: str, answer: str):
    line = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = python("-m", "dudley", _DUDLEY_COMPLETE="complete_bash", **line)
    assert (done.returncode, done.stdout.split()) == (0, [answer])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_the_script_that_asks(shell: str):
    done = python("-m", "dudley", _DUDLEY_COMPLETE=f"source_{shell}")
    assert done.returncode == 0 and f"_DUDLEY_COMPLETE=complete_{shell}" in done.stdout

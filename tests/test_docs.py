"""The pages of docs/ show what their code and their commands print."""

from __future__ import annotations

import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import shown
from dudley.networks.files import EXAMPLES

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("howto/*.md")])
MARK = "--- block ---"
# Commands that take more than a few seconds.
SLOW = (
    "dudley audit",
    "dudley certify picture",
    "dudley certify train",
    "dudley lab figures",
    "dudley lab list",
    "dudley lab run",
    "dudley tour",
    "dudley verify marked-token --coq",
    "dudley verify picked",  # what certify train wrote
    "dudley verify zero-or-one",
    "ls run",  # what dudley lab run wrote
)
# Set-up, and pages whose commands are run by a test of their own.
SET_UP = ("pip ", "make ")
LONG = ("around", "attack", "certify", "cluster", "features", "grid")
LONG += ("language", "training", "trainings")
TRAINS = (
    "calculus.md",
    "certify.md",
    "gallery.md",
    "train.md",
    *(f"howto/{name}.md" for name in LONG),
)
# Packages that a machine may lack, and the modules by which they are imported.
NEEDS = {
    "howto/cluster.md": {"ray": "ray", "submitit": "submitit"},
    "howto/training.md": {"scikit-learn": "sklearn"},
}
# Pages whose commands need a program.
PROGRAMS = {"proof.md": ("coq", "coqc")}
ELSEWHERE = {"measure.md": "tests/weights/test_minilm.py"}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def prepared(page: Path, folder: Path) -> Path:
    """A folder with what the page takes for given: `dudley`, its files, an example's files."""
    command = folder / ".bin" / "dudley"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dudley "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    for name, body in shown.files(text_of(page)).items():
        (folder / name).write_text(body, encoding="utf-8")
    if page.name == "certify.md" and page.parent == DOCS:
        shutil.copy(EXAMPLES / "sparse-and" / "model.safetensors", folder)
        examples = np.load(EXAMPLES / "sparse-and" / "train.npz")
        for name, part in (("train", slice(1500)), ("test", slice(1500, None))):
            np.savez(folder / f"{name}.npz", **{key: examples[key][part] for key in ("X", "y")})
    return folder


def check_code(page: Path, folder: Path) -> None:
    """All Python blocks in one process, one after the other."""
    pairs = shown.printed(text_of(page))
    script = f"\nprint({MARK!r})\n".join(code for code, _ in pairs)
    done = shown.run_process(folder, sys.executable, "-X", "utf8", "-c", script)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split(MARK + "\n") == [text for _, text in pairs]


def check_commands(page: Path, folder: Path, *, slow: bool) -> None:
    """The commands, one after the other; where slow ones are left out, those after them stand."""
    for command, output in shown.sessions(text_of(page), None):
        if command.startswith(SET_UP) or (command.startswith(SLOW) and not slow):
            continue
        done = shown.run_command(command, folder)
        assert (done.returncode, shown.complaints(done.stderr)) == (0, ""), command
        assert not output or shown.agrees(output, done.stdout), done.stdout


def commands(page: Path) -> list[str]:
    if name_of(page) in ELSEWHERE:
        return []
    every = [command for command, _ in shown.sessions(text_of(page), None)]
    return [command for command in every if not command.startswith(SET_UP)]


def quick(page: Path) -> bool:
    return any(not command.startswith(SLOW) for command in commands(page))


def marked(page: Path):
    """A page whose code trains or searches something is for the slow tier."""
    marks = [pytest.mark.slow] if name_of(page) in TRAINS else []
    return pytest.param(page, marks=marks, id=name_of(page))


@pytest.mark.parametrize(
    "page", [marked(p) for p in PAGES if shown.printed(text_of(p)) or quick(p)]
)
def test_a_page_shows_what_its_code_and_its_commands_print(page: Path, tmp_path: Path, require):
    for name, module in NEEDS.get(name_of(page), {}).items():
        require(name, find_spec(module) is not None, f"no package {name}")
    folder = prepared(page, tmp_path)
    if shown.printed(text_of(page)):
        check_code(page, folder)
    if name_of(page) not in ELSEWHERE:
        check_commands(page, folder, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(c.startswith(SLOW) for c in commands(p))], ids=name_of
)
def test_the_long_commands_of_a_page(page: Path, tmp_path: Path, require, monkeypatch):
    if name_of(page) in PROGRAMS:
        name, program = PROGRAMS[name_of(page)]
        require(name, shutil.which(program) is not None, f"no {program} on PATH")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    check_commands(page, prepared(page, tmp_path), slow=True)


def test_every_python_block_is_run():
    """A Python block without the text that it prints would be run by no test."""
    for page in PAGES:
        blocks = [kind for kind, _ in shown.BLOCK.findall(text_of(page))]
        assert blocks.count("python") == len(shown.printed(text_of(page))), page


def test_every_block_is_closed_and_has_a_kind():
    for page in PAGES:
        fences = re.findall(r"^```(.*)$", text_of(page), re.MULTILINE)
        assert len(fences) % 2 == 0 and all(fences[::2]) and not any(fences[1::2]), page


def test_pages_run_elsewhere_are_named_there():
    for name, test in ELSEWHERE.items():
        assert name in (DOCS.parent / test).read_text(encoding="utf-8")


def test_some_page_shows_code():
    assert any(shown.printed(text_of(page)) for page in PAGES)
    assert any(quick(page) for page in PAGES)


def test_files_and_continued_commands_are_found():
    text = "```toml\n# a.toml\nx = 1\n```\n\n```console\n$ dudley a \\\n    b\nc\n```\n"
    assert shown.files(text) == {"a.toml": "# a.toml\nx = 1\n"}
    assert shown.sessions(text, None) == [("dudley a b", "c")]

"""Every command has help, an example that runs, --json, and its place in the reference."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer

import dudley as dudley_package
from dudley.cli.app import app
from dudley.show.pages import BUILDERS
from each import each
from shown import complaints
from tiny_run import tiny

ROOT = Path(__file__).resolve().parents[2]


def walk(command, path: tuple[str, ...] = ("dudley",)) -> dict[str, object]:
    """Every command of the app by the words that call it; groups that do nothing are left out."""
    inner = getattr(command, "commands", {})
    names = (
        {" ".join(path): command}
        if not inner or getattr(command, "invoke_without_command", 0)
        else {}
    )
    for name, child in inner.items():
        names |= walk(child, (*path, name))
    return names


LONG = {"dudley audit", "dudley certify language", "dudley certify picture", "dudley lab figures"}
COMMANDS = walk(typer.main.get_command(app))
EXAMPLES = [
    pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
    for name in COMMANDS
    if name != "dudley tour"
]

TRAIN = {"dudley certify train", "dudley tour"}
FOR_PROGRAMS = [
    pytest.param(name, marks=[pytest.mark.slow] if name in LONG | TRAIN else [])
    for name, command in COMMANDS.items()
    if any("--json" in parameter.opts for parameter in command.params)
]


def example_of(command) -> str:
    (line,) = re.findall(r"^ *Example: (dudley .+)$", command.help or "", re.MULTILINE)
    return line


def test_the_lists_of_commands_show_whole_sentences(dudley):
    for group in ((), ("theorems",), ("certify",), ("lab",)):
        assert "..." not in dudley(*group, "--help").out.partition("Commands:")[2]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """The runs that examples speak of."""
    folder = tmp_path_factory.mktemp("runs")
    for run in ("dudley-lab/edelman2021-and/smoke/store/and", "runs/one", "runs/two"):
        tiny(folder / run)
    return folder


@pytest.fixture
def here(runs: Path, tmp_path: Path, monkeypatch) -> Path:
    """A folder with nothing but these and a text."""
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    lines = (f"a line of text, number {i}" for i in range(100))
    (tmp_path / "texts.txt").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_walk_finds_the_commands():
    assert {"dudley derive", "dudley tour"} <= set(COMMANDS)


@each("name", COMMANDS)
def test_help_says_what_it_does_and_shows_an_example(dudley, name: str):
    command = COMMANDS[name]
    assert example_of(command).startswith(name)
    done = dudley(*name.split()[1:], "--help")
    assert done.code == 0 and complaints(done.err) == ""
    assert "Example: dudley" in done.out
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"


@pytest.mark.slow
@pytest.mark.parametrize("name", FOR_PROGRAMS)
def test_what_is_printed_for_programs_is_a_page(dudley, name: str, here: Path):
    """The JSON of every command is taken by ``dudley report``, under its own kind."""
    done = dudley(*shlex.split(example_of(COMMANDS[name]))[1:], "--json")
    assert done.code in (0, 1) and done.json()["kind"] in BUILDERS
    (here / "printed.json").write_text(done.out, encoding="utf-8")
    page = dudley("report", "printed.json")
    assert (page.code, page.err) == (0, "") and page.out.startswith("# ")
    assert dudley("report", "printed.json", "--out", "page.html").code == 0
    assert "<h1" in (here / "page.html").read_text(encoding="utf-8")


def test_every_kind_that_a_command_prints_has_a_page():
    """No command that is added later prints a kind that ``report`` does not know."""
    source = Path(dudley_package.__file__).parent / "cli"
    words = "".join(file.read_text(encoding="utf-8") for file in source.rglob("*.py"))
    kinds = set(re.findall(r"print_json\(\s*\"([\w-]+)\"", words))
    assert len(kinds) > 20 and kinds <= set(BUILDERS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(dudley, name: str, here: Path):
    done = dudley(*shlex.split(example_of(COMMANDS[name]))[1:])
    assert done.code in (0, 1), done.err  # 1: the answer is "no"
    assert done.out.strip() and complaints(done.err) == ""


@each("name", COMMANDS)
def test_it_speaks_json(name: str):
    options = [option for p in COMMANDS[name].params for option in p.opts]
    assert "--json" in options


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_speaks_json_alone_on_stdout(dudley, name: str, here: Path):
    document = dudley(*shlex.split(example_of(COMMANDS[name]))[1:], "--json").json()
    assert document["items"]


@each("name", COMMANDS)
def test_the_reference_lists_it(name: str):
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert f"### `{name}`" in reference
    assert example_of(COMMANDS[name]) in " ".join(reference.split())

"""CONTRIBUTING.md names rooms in their order, and paths and modules that exist."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_picture_has_every_room_in_the_order_of_the_layers():
    picture = re.search(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    assert picture is not None
    rooms = re.findall(r"^(\w+) ", picture[1], re.MULTILINE)
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = rules["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each.get("containers") == ["dudley"])
    assert rooms[::-1] == [layer.strip("()") for layer in layers]


def lines_of_rooms() -> dict[Path, str]:
    """The folders of the picture, each with what is said of it."""
    picture = re.search(r"```text\n(.*?)```", GUIDE, re.DOTALL)
    assert picture is not None
    room, lines = "", {}
    for line in picture[1].splitlines():
        name, text = line.split(maxsplit=1)
        room = name if line[0] != " " else room
        lines[ROOT / "src/dudley" / room / (name if line[0] == " " else "")] = text
    return lines


def test_the_folders_of_the_picture_exist():
    assert len(lines_of_rooms()) == 25 and all(folder.is_dir() for folder in lines_of_rooms())


def test_a_line_of_the_picture_is_the_first_line_of_its_package():
    for folder, text in lines_of_rooms().items():
        source = (folder / "__init__.py").read_text(encoding="utf-8")
        first = (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]
        assert text == first.removesuffix("."), folder


MADE_UP = {"paper/kind-number"}  # how an id is formed, not a path


def paths(text: str) -> set[str]:
    """Words in backquotes with a slash, and the targets of links."""
    quoted = {word for word in re.findall(r"`([^`\s]+)`", text) if "/" in word}
    return (quoted | set(re.findall(r"\]\(([^)\s]+)\)", text))) - MADE_UP


def absent(path: str) -> bool:
    """Is it neither in the repository nor in the package? A word in capitals stands for any."""
    pattern = re.sub(r"\b[A-Z]+\b(?=/)", "*", path)
    return not any(any(base.glob(pattern)) for base in (ROOT, ROOT / "src/dudley"))


def modules(text: str) -> set[str]:
    return set(re.findall(r"`(dudley(?:\.\w+)+)`", text))


def test_every_path_that_is_named_exists():
    assert len(paths(GUIDE)) > 40 and not [path for path in paths(GUIDE) if absent(path)]


def test_every_module_that_is_named_exists():
    assert modules(GUIDE) and all(find_spec(module) for module in modules(GUIDE))


def test_what_is_absent_is_seen():
    text = "`weights/absent.py`, `tests/absent/`, [a](docs/absent.md), `dudley.absent`"
    assert len(paths(text)) == 3 and all(map(absent, paths(text)))
    assert [find_spec(module) for module in modules(text)] == [None]


def ways(text: str) -> dict[str, str]:
    """The paragraphs of "How to add …" by what they add."""
    part = text.partition("## How to add …")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\*\*(.+?)\.\*\* (.+)$", part, re.MULTILINE))


def untried(text: str) -> list[str]:
    """What can be added without a test that adds it."""
    return [
        name
        for name, words in ways(text).items()
        if not re.search(r"Tried by `tests/[\w/]+\.py`[^.]*(\.py`[^.]*)*\.$", words)
    ]


def test_each_way_ends_with_the_test_that_tries_it():
    assert len(ways(GUIDE)) == 16 and untried(GUIDE) == []


def test_a_way_that_nothing_tries_is_seen():
    text = "## How to add …\n\n**A chair.** Build it.\n\n**A lamp.** Tried by `tests/lamp.py`.\n"
    assert untried(text) == ["A chair"]

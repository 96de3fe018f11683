"""The check of names sees a name of an act and a class that has a namesake, and nothing else."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from each import each

FILE = Path(__file__).resolve().parents[1] / "scripts" / "lint_names.py"


@pytest.fixture(scope="module")
def lint():
    spec = importlib.util.spec_from_file_location("lint_names", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each(
    "code",
    [
        "found = 1",
        "_found = 1",
        "for one in range(3): pass",
        "with open('a') as held: pass",
        "self.kept = 1",
        "a, *given = range(3)",
        "def told(): pass",
        "def f(asked): pass",
        "f = lambda own: own",
        "async def found(): pass",
        "class Held: pass",
        "if (found := 1): pass",
        "try: pass\nexcept ValueError as told: pass",
        "match 1:\n    case found: pass",
        "def f(*, given=1): pass",
    ],
)
def test_a_binding_called_by_an_act_is_named(lint, code: str):
    assert len(list(lint.acts(ast.parse(code)))) == 1


@each(
    "code",
    [
        "[found for found in range(3)]",
        "{k: one for k, one in pairs}",
        "any(held > 1 for held in rows)",
        "row.found",
        "print(found)",
        "found_rows = 1",
        "f(given=1)",
        "{'told': 1}",
    ],
)
def test_a_comprehension_a_use_and_a_key_are_free(lint, code: str):
    assert list(lint.acts(ast.parse(code))) == []


def test_a_planted_name_and_a_planted_twin_are_seen(lint, tmp_path: Path, monkeypatch, capsys):
    package = tmp_path / "src"
    package.mkdir()
    (package / "a.py").write_text("class Ball: pass\nclass _Hidden: pass\n", encoding="utf-8")
    (package / "b.py").write_text("class Grid: pass\nclass _Hidden: pass\n", encoding="utf-8")
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    assert lint.main([package]) == 0
    (package / "c.py").write_text("class Ball: pass\ntold = 1\n", encoding="utf-8")
    assert lint.main([package]) == 1
    printed = capsys.readouterr().out
    assert f"{package / 'c.py'}:2: 'told' names an act" in printed
    assert f"class Ball is also at {package / 'c.py'}:1" in printed and "Hidden" not in printed


def test_classes_outside_the_package_may_share_a_name(lint, tmp_path: Path, monkeypatch):
    (tmp_path / "a.py").write_text("class Ball: pass\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("class Ball: pass\n", encoding="utf-8")
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    assert lint.main([tmp_path]) == 0


def test_examples_and_pages_are_read_too(lint, tmp_path: Path, capsys):
    module, page = tmp_path / "a.py", tmp_path / "b.md"
    module.write_text('def f():\n    """Say.\n\n    >>> told = 1\n    """\n', encoding="utf-8")
    page.write_text("# Page\n\n```python\na = 1\nfound = a\n```\n\nfound = 1\n", encoding="utf-8")
    assert lint.main([tmp_path]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        f"{module}:4: 'told' names an act, not a thing",
        f"{page}:5: 'found' names an act, not a thing",
    ]


def test_what_is_read_exists(lint):
    assert all((lint.ROOT / path).exists() for path in lint.FOLDERS)


def test_an_alias_is_no_other_class_and_no_other_alias(lint, tmp_path: Path, monkeypatch):
    package = tmp_path / "src"
    package.mkdir()
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    same = "Rows = dict[str, int]\nUnit = TypeVar('Unit')\nLIMIT = 3\nT = 4\n"
    for name in ("a.py", "b.py"):
        (package / name).write_text(same, encoding="utf-8")
    assert lint.main([package]) == 0
    for other in ("Rows = dict[str, float]\n", "class Rows: pass\n"):
        (package / "c.py").write_text(other, encoding="utf-8")
        assert lint.main([package]) == 1

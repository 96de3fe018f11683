"""Benchmarks are run seldom: what they import from the package must exist all the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from each import each

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def absent(source: str) -> Iterator[str]:
    """Names that a source imports from the package, and that the package does not have."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dudley"):
            module = import_module(str(node.module))
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                package = hasattr(module, "__path__")
                if not hasattr(module, alias.name) and not (package and find_spec(name)):
                    yield name


@each("path", sorted(FOLDER.rglob("*.py")))
def test_what_a_benchmark_imports_exists(path: Path):
    assert list(absent(path.read_text(encoding="utf-8"))) == []


def test_a_name_that_is_gone_is_seen():
    source = "from dudley.core import errors, gone\nfrom dudley.core.errors import InputError, Gone"
    assert list(absent(source)) == ["dudley.core.gone", "dudley.core.errors.Gone"]

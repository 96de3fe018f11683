"""A unit is added as its author would add it: by a file, which is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest


@pytest.fixture
def add(tmp_path: Path) -> Iterator[Callable[[str, str], ModuleType]]:
    """Write a module into a temporary folder and import it; the module is forgotten afterwards."""
    names: list[str] = []

    def write_and_import(name: str, source: str) -> ModuleType:
        path = tmp_path / f"{name}.py"
        path.write_text(dedent(source), encoding="utf-8")
        spec = spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = sys.modules[name] = module_from_spec(spec)
        names.append(name)
        spec.loader.exec_module(module)
        return module

    yield write_and_import
    for name in names:
        del sys.modules[name]

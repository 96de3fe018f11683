"""Public names of a package, loaded on first use; its ``__init__.pyi`` is the only list of them.

The stub holds lines ``from MODULE import NAME as NAME``, which type checkers read too. So a name
cannot be public for one and unknown to the other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of the package whose ``__init__.py`` is ``file``."""
    home = homes(Path(file).with_suffix(".pyi"))

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home[name] == package:  # a package inside this one
            return import_module(f"{package}.{name}")
        return getattr(import_module(home[name]), name)

    return load, lambda: sorted(home)


def homes(stub: Path) -> dict[str, str]:
    """Each public name of a stub with the module that it is imported from."""
    statements = ast.parse(stub.read_text(encoding="utf-8")).body
    imports = [s for s in statements if isinstance(s, ast.ImportFrom) and s.module]
    return {alias.asname or alias.name: str(s.module) for s in imports for alias in s.names}

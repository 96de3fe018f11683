"""Python from outside this package: a file that the user names, and installed packages.

Both come to register units: statements, experiments. A source that fails registers nothing.
Nothing is executed that the user has neither named nor installed.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import util
from importlib.metadata import entry_points
from pathlib import Path
from threading import RLock

from dudley.core.errors import InputError
from dudley.core.registry import Registry

_executed: set[Path] = set()
_groups: set[str] = set()  # of entry points, loaded or being loaded
_sources: list[str] = []  # being loaded, the innermost last
# A second thread waits until the first has loaded a source. The lock is re-entrant: a module that
# is being loaded may itself read a registry, and so ask for the entry points.
_lock = RLock()


def execute(path: Path, option: str, registries: Sequence[Registry]) -> None:
    """Execute a Python file that the user named with ``option``; only once in a process.

    The file registers units in ``registries``; the first one says what it is expected to
    register. If it fails, nothing of it stays registered, and the option is refused.
    """
    path = path.resolve()
    with _lock:
        if path in _executed:
            return
        if path.suffix != ".py" or not path.is_file():
            raise InputError(option, "a Python file (.py)", path)
        try:
            with _all_or_nothing(path.name, registries):
                _import(path)
        except (Exception, SystemExit) as error:
            expected = f"{path.name} to register {registries[0].kind}s"
            raise InputError(option, expected, f"{type(error).__name__}: {error}") from error
        _executed.add(path)


def executed() -> list[Path]:
    """The files that were executed in this process, sorted: another process may need them."""
    return sorted(_executed)


def forget(path: Path) -> None:
    """Forget that a file was executed: its units were removed, and it may register them again."""
    _executed.discard(path)


def load_entry_points(group: str, registries: Sequence[Registry]) -> None:
    """Import what installed packages declare as entry points of a group; once in a process.

    An entry point that fails is left out, with a ``RuntimeWarning``.
    """
    with _lock:
        if group in _groups:
            return
        _groups.add(group)
        for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
            try:
                with _all_or_nothing(entry.name, registries):
                    entry.load()
            except Exception as error:
                text = f"{group} entry point {entry.name!r} is left out: {error}"
                warnings.warn(" ".join(text.split()), RuntimeWarning, stacklevel=2)


def loading() -> bool:
    """Is a file or an entry point being loaded?"""
    return bool(_sources)


@contextmanager
def _all_or_nothing(source: str, registries: Sequence[Registry]) -> Iterator[None]:
    """Let a source register units; take all of them out if it fails."""
    before = [set(registry) for registry in registries]
    _sources.append(source)
    try:
        yield
    except BaseException:
        for registry, names in zip(registries, before, strict=True):
            for name in set(registry) - names:
                registry.remove(name)
        raise
    finally:
        _sources.pop()


def _import(path: Path) -> None:
    """Import the file as a module of its own name, which its classes can look up."""
    name = f"dudley_outside_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise

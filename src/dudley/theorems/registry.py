"""All statements, by id, and the papers they are from, by key.

Statements come from four places: the papers of this package; installed packages that declare an
entry point of the group ``dudley.statements`` (a module that registers statements); files named
by ``--statements``, which are executed; and Python that calls ``register`` itself.
"""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module, util
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules

from dudley.core.bound import Bound
from dudley.core.errors import InputError
from dudley.core.registry import Registry
from dudley.core.statement import Statement

GROUP = "dudley.statements"
_ID = re.compile(r"[\w-]+/(\w+)-\w[\w.]*")


@dataclass(frozen=True)
class Paper:
    """Where statements are from; its key is the first part of their ids."""

    key: str
    title: str
    authors: str
    year: int


STATEMENTS: Registry[Statement] = Registry("statement")
PAPERS: Registry[Paper] = Registry("paper")
FILES: list[Path] = []  # that were executed
_files_of: dict[str, list[Path]] = {}  # by the keys of papers that they register
_elsewhere: set[str] = set()  # ids that neither this package, an entry point nor a file registers


def register_paper(key: str, title: str, authors: str, year: int) -> Paper:
    """Register a paper: its statements have ids KEY/KIND-NUMBER."""
    if not re.fullmatch(r"[\w-]+", key):
        raise InputError("paper", "a key of letters, digits, _ and -", key)
    return PAPERS.register(key)(Paper(key, title, authors, year))


register_paper(
    "edelman2021",
    "Inductive Biases and Variable Creation in Self-Attention Mechanisms",
    "Edelman, Goel, Kakade, Zhang",
    2021,
)
register_paper(
    "trauger2024",
    "Sequence Length Independent Norm-Based Generalization Bounds for Transformers",
    "Trauger, Tewari",
    2024,
)
register_paper(
    "li2026",
    "Sharper Generalization Bounds for Transformer",
    "Li, Hu, Lian, Tian, Peng, Zhang, Li",
    2026,
)
register_paper(
    "mwigo2026",
    "Generalization bound for a Shallow Transformer trained using Gradient Descent",
    "Mwigo, Dasgupta",
    2026,
)
SHIPPED = tuple(PAPERS)


def register(statement: Statement) -> Statement:
    """Add a statement to the registry; its paper is registered before it."""
    match = _ID.fullmatch(statement.id)
    if match is None or match[1] != statement.kind:
        raise InputError("id of a statement", f"PAPER/{statement.kind}-NUMBER", statement.id)
    if statement.paper not in PAPERS:
        raise InputError(
            f"paper of {statement.id}",
            "a registered key",
            statement.paper,
            f"call register_paper({statement.paper!r}, title, authors, year) first",
        )
    STATEMENTS.register(statement.id)(statement)
    if statement.paper not in SHIPPED and not _loading:
        _elsewhere.add(statement.id)
    return statement


def remove(key: str) -> None:
    """Take a paper that is not of this package, and its statements, out of the registry."""
    if key in SHIPPED:
        raise InputError("paper", "one that this package does not ship", key)
    PAPERS.remove(key)
    for id in [id for id, s in STATEMENTS.items() if s.paper == key]:
        STATEMENTS.remove(id)
        _elsewhere.discard(id)
    FILES[:] = [path for path in FILES if path not in _files_of.pop(key, ())]


def load() -> Registry[Statement]:
    """The registry with the statements of every paper and of every installed package in it."""
    for key in SHIPPED:
        package = import_module(f"dudley.theorems.{key}")
        for module in iter_modules(package.__path__):
            import_module(f"dudley.theorems.{key}.{module.name}")
    if not _loading:  # else a module that is being loaded asks
        _load_entry_points()
    return STATEMENTS


def expect_paper(key: str) -> Paper:
    """The paper of a key; an unknown one is refused."""
    load()
    return PAPERS[key]


def is_local(id: str) -> bool:
    """Does only this process know the statement?"""
    return id in _elsewhere


# -- statements from outside ------------------

_loading: list[str] = []


@contextmanager
def _all_or_nothing(source: str) -> Iterator[None]:
    """Register what a source does; nothing of it if it fails."""
    before = set(PAPERS), set(STATEMENTS)
    _loading.append(source)
    try:
        yield
    except BaseException:
        for id in set(STATEMENTS) - before[1]:
            STATEMENTS.remove(id)
        for key in set(PAPERS) - before[0]:
            PAPERS.remove(key)
        raise
    finally:
        _loading.pop()


@cache
def _load_entry_points() -> None:
    """Import the modules that installed packages declare; one that fails is left out, and told."""
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            _load_entry(entry.name, entry.load)
        except Exception as error:
            told = f"{GROUP} entry point {entry.name!r} is left out: {error}"
            warnings.warn(" ".join(told.split()), RuntimeWarning, stacklevel=2)


def _load_entry(name: str, import_it: Callable[[], object]) -> None:
    with _all_or_nothing(name):
        import_it()


def load_file(path: Path) -> None:
    """Execute a Python file that registers statements. Only for files that their author names."""
    path = path.resolve()
    if path in FILES:
        return
    if path.suffix != ".py" or not path.is_file():
        raise InputError("--statements", "a Python file (.py)", path)
    load()
    before = set(PAPERS)
    try:
        with _all_or_nothing(path.name):
            _execute(path)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError("--statements", f"{path.name} to register statements", reason) from error
    FILES.append(path)
    for key in set(PAPERS) - before:
        _files_of.setdefault(key, []).append(path)


def _execute(path: Path) -> None:
    """Import the file as a module of its own name, which its classes can look up."""
    name = f"dudley_statements_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module = util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def load_files(paths: list[Path]) -> None:
    """Execute several."""
    for path in paths:
        load_file(path)


# -- values ------------------


def evaluate(id: str, given: Mapping[str, float], form: str = "derived") -> Bound:
    """A statement on numbers.

    >>> values = {"d": 64, "k": 64, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}
    >>> evaluate("trauger2024/lemma-3.6", values, "printed").value
    36.04...
    """
    return load()[id].evaluate_on(given, form)

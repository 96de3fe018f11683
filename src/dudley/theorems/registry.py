"""All statements, by id, and the papers they are from, by key.

Statements come from four places: the papers of this package; installed packages that declare an
entry point of the group ``dudley.statements`` (a module that registers statements); files named
by ``--statements``, which are executed; and Python that calls ``register`` itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from dudley.core import outside
from dudley.core.bound import Bound
from dudley.core.errors import InputError
from dudley.core.paper import Paper
from dudley.core.registry import Registry
from dudley.core.statement import Statement

GROUP = "dudley.statements"
_ID = re.compile(r"[\w-]+/(\w+)-\w[\w.]*")


SHIPPED: tuple[str, ...] = (
    "edelman2021",
    "trauger2024",
    "li2026",
    "mwigo2026",
)  # folders, in reading order
PAPERS: Registry[Paper] = Registry("paper", f"dudley.theorems.{'|'.join(SHIPPED)}.paper")
STATEMENTS: Registry[Statement] = Registry("statement", f"dudley.theorems.{'|'.join(SHIPPED)}.*")
FILES: dict[Path, set[str]] = {}  # that were executed, with the papers that each registers
_elsewhere: set[str] = set()  # ids that neither this package, an entry point nor a file registers


def register_paper(
    key: str,
    title: str,
    authors: str,
    year: int,
    *,
    label: str | None = None,
    version: str | None = None,
    unexamined: str = "later versions, if there are any",
) -> Paper:
    """Register a paper in the version that was read: its statements have ids KEY/KIND-NUMBER."""
    if not re.fullmatch(r"[\w-]+", key):
        raise InputError("paper", "a key of letters, digits, _ and -", key)
    if key in PAPERS:
        raise InputError("paper", "a key that no other paper has", key)
    label = label or f"text of {year}"
    paper = Paper(key, title, authors, year, label, version or label, unexamined)
    return PAPERS.register(key)(paper)


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
    statement.check_arguments()
    statement = replace(statement, source=PAPERS[statement.paper])
    STATEMENTS.register(statement.id)(statement)
    if statement.paper not in SHIPPED and not outside.loading():
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
    for path in [path for path, papers in FILES.items() if key in papers]:
        del FILES[path]
        outside.forget(path)


def load() -> Registry[Statement]:
    """The registry with the statements of every paper and of every installed package in it."""
    outside.load_entry_points(GROUP, (STATEMENTS, PAPERS))
    return STATEMENTS


def expect_paper(key: str) -> Paper:
    """The paper of a key; an unknown one is refused."""
    load()
    return PAPERS[key]


def caveats(statements: Iterable[Statement]) -> list[str]:
    """Of each paper of which one of these is false as printed: what was examined."""
    sources = [s.source for s in statements if s.verdict.is_false and s.source is not None]
    return list(dict.fromkeys(source.caveat for source in sources))


def is_local(id: str) -> bool:
    """Does only this process know the statement?"""
    return id in _elsewhere


# -- statements from outside ------------------


def load_file(path: Path) -> None:
    """Execute a Python file that registers statements. Only for files that their author names."""
    load()
    path, before = path.resolve(), set(PAPERS)
    outside.execute(path, "--statements", (STATEMENTS, PAPERS))
    FILES.setdefault(path, set(PAPERS) - before)


def load_files(paths: list[Path]) -> None:
    """Execute several."""
    for path in paths:
        load_file(path)


# -- values ------------------


def evaluate(id: str, inputs: Mapping[str, float], form: str = "derived") -> Bound:
    """A statement on numbers.

    >>> values = {"d": 64, "k": 64, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}
    >>> evaluate("trauger2024/lemma-3.6", values, "printed").value
    36.04...
    """
    return load()[id].evaluate_on(inputs, form)

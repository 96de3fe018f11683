"""Names that say what they are: a check of `make check`.

    python scripts/lint_names.py [PATH …]

Two rules. A variable, argument, attribute or function is not called by the act that made it
(``told``, ``found`` …): it is called by what it is. The variable of a comprehension is excepted,
where one line shows both. And a public class, or a capitalised alias of one at the top of a module,
has a name that no class, and no alias of something else, has anywhere else in the package.

The first rule is for all Python here: modules and tests, examples in docstrings, and the ``python``
blocks of the documentation.
"""

from __future__ import annotations

import ast
import doctest
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "benchmarks", "scripts", "tests", "docs", "conftest.py", "README.md")
ACTS = {"told", "found", "one", "own", "held", "kept", "given", "asked"}
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.MatchAs, ast.MatchStar, ast.ExceptHandler)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def acts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each binding that is called by an act."""
    excepted = {
        id(name)
        for node in ast.walk(tree)
        if isinstance(node, COMPREHENSIONS)
        for generator in node.generators
        for name in ast.walk(generator.target)
    }
    for node in ast.walk(tree):
        name = None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = None if id(node) in excepted else node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.attr
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.ClassDef):
            name = node.name.lower()
        elif isinstance(node, NAMED):
            name = node.name
        if name is not None and name.strip("_") in ACTS:
            yield getattr(node, "lineno", 0), name


def classes(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, name and meaning of each public class of a module, and of each alias of a type.

    Two aliases of the same expression mean the same thing, and two type variables are no classes.
    """
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.lineno, node.name, f"class at line {node.lineno}"
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, ast.unparse(node.value)
            aliased = name[0].isupper() and not name.isupper() and any(map(str.islower, name))
            if aliased and not value.startswith(("TypeVar(", "ParamSpec(")):
                yield node.lineno, name, value


def examples(text: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and source of each example in the docstrings of a module."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if node.body and ast.get_docstring(node, clean=False):
            first = node.body[0]
            words = "\n".join(text.splitlines()[first.lineno - 1 : first.end_lineno])
            for example in doctest.DocTestParser().get_examples(words.replace('"""', "   ")):
                yield first.lineno + example.lineno, example.source


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Line and source of each ``python`` block of a page."""
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield text[: block.start(1)].count("\n") + 1, block[1]


def pieces(path: Path) -> Iterator[tuple[int, ast.Module]]:
    """Line and syntax of each piece of Python in a file: the module first, then its examples."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from ((line, ast.parse(source)) for line, source in blocks(text))
        return
    tree = ast.parse(text)
    yield 1, tree
    for line, source in examples(text, tree):
        yield line, ast.parse(source)


def files(paths: list[Path]) -> list[Path]:
    """The Python files and pages at and below the paths."""
    return sorted(
        file
        for path in paths
        for file in ([path] if path.is_file() else [*path.rglob("*.py"), *path.rglob("*.md")])
    )


def main(paths: list[Path]) -> int:
    complaints, homes = [], defaultdict(list)
    for path in files(paths):
        for start, tree in pieces(path):
            complaints += [
                f"{path}:{start + line - 1}: {name!r} names an act, not a thing"
                for line, name in acts(tree)
            ]
            if path.is_relative_to(ROOT / "src") and start == 1:
                for line, name, meaning in classes(tree):
                    kind = f"{path}: {meaning}" if meaning.startswith("class ") else meaning
                    homes[name].append((f"{path}:{line}", kind))
    for name, uses in sorted(homes.items()):
        if len({meaning for _, meaning in uses}) > 1:
            first, *others = (home for home, _ in uses)
            complaints.append(f"{first}: class {name} is also at {', '.join(others)}")
    print("\n".join(complaints) or "names: nothing to say")
    return bool(complaints)


if __name__ == "__main__":
    named = [Path(word).resolve() for word in sys.argv[1:]]
    sys.exit(main(named or [ROOT / folder for folder in FOLDERS]))

"""Names that say what they are: a check of `make check`.

    python scripts/lint_names.py [PATH …]

Two rules. A variable, argument, attribute or function is not called by the act that made it
(``told``, ``found`` …): it is called by what it is. The variable of a comprehension is excepted,
where one line shows both. And a public class has a name that no other class of the package has.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
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


def classes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each public class of a module."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.lineno, node.name


def main(paths: list[Path]) -> int:
    complaints, homes = [], defaultdict(list)
    for path in sorted(
        file for root in paths for file in ([root] if root.is_file() else root.rglob("*.py"))
    ):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        complaints += [
            f"{path}:{line}: {name!r} names an act, not a thing" for line, name in acts(tree)
        ]
        if path.is_relative_to(ROOT / "src"):
            for line, name in classes(tree):
                homes[name].append(f"{path}:{line}")
    for name, places in sorted(homes.items()):
        if len(places) > 1:
            complaints.append(f"{places[0]}: class {name} is also at {', '.join(places[1:])}")
    print("\n".join(complaints) or "names: nothing to say")
    return bool(complaints)


if __name__ == "__main__":
    named = [Path(word).resolve() for word in sys.argv[1:]]
    sys.exit(main(named or [ROOT / folder for folder in ("src", "benchmarks", "scripts")]))

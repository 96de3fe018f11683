"""The package knows the five wrapping nodes in one place: no other module asks for their class."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import dudley

WRAPPING = {"Chain", "Parallel", "Heads", "Repeat", "Residual"}
SOURCES = sorted(Path(dudley.__file__).parent.rglob("*.py"))


def ladders(source: str) -> list[int]:
    """Lines that ask of which wrapping class a node is: isinstance, a match, or a dispatch."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "isinstance",
            "issubclass",
        ):
            classes = node.args[1:]
        elif isinstance(node, ast.MatchClass):
            classes = [node.cls]
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            classes = [node]
        elif isinstance(node, ast.FunctionDef) and any(
            "register" in ast.unparse(decorator) for decorator in node.decorator_list
        ):
            classes = [
                argument.annotation for argument in node.args.args[:1] if argument.annotation
            ]
            classes += node.decorator_list
        else:
            continue
        names = {
            getattr(part, "id", getattr(part, "attr", ""))
            for tree in classes
            for part in ast.walk(tree)
        }
        if names & WRAPPING:
            lines.append(node.lineno)
    return lines


def test_no_module_asks_for_the_class_of_a_wrapping_node():
    assert len(SOURCES) > 300
    places = {
        str(path): lines
        for path in SOURCES
        if path.parts[-2:] != ("calculus", "compose.py")
        and (lines := ladders(path.read_text(encoding="utf-8")))
    }
    assert not places, f"ask the node itself, by parts() or a method of Node: {places}"


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(node, Chain | Repeat)",
        "isinstance(node, (Dense, compose.Heads))",
        "type(node) is Residual",
        "match node:\n case Parallel(): pass",
        "@local.register\ndef _(node: Chain, signal): pass",
    ],
)
def test_the_search_for_ladders_finds_one(line):
    assert ladders(line)

"""The gallery: ten examples of ten lines at most, which the tests of the pages run."""

from __future__ import annotations

import re
from pathlib import Path

import shown

DOCS = Path(__file__).resolve().parents[1] / "docs"
MOST = 10
COVERED = ("capacity", "dudley compare", "attack", "measure", "outcomes", "certify_training",
           "Prequential", "certify_selection", "dudley watch", "dudley plan-test")  # fmt: skip


def examples() -> list[str]:
    """What a reader types, section by section."""
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    typed = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        code = [body for kind, body in shown.BLOCK.findall(section) if kind == "python"]
        commands = [command for command, _ in shown.sessions(section, None)]
        typed.append("\n".join([*code, *commands]))
    return typed


def test_there_is_one_for_each_thing_that_the_package_does():
    assert len(examples()) == len(COVERED) == 10
    for typed, word in zip(examples(), COVERED, strict=True):
        assert word in typed


def test_none_is_longer_than_ten_lines():
    lengths = [sum(bool(line.strip()) for line in typed.splitlines()) for typed in examples()]
    assert all(0 < length <= MOST for length in lengths), lengths

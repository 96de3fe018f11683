"""The pages of docs/ show what their code prints."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "--- block ---"


def shown(page: Path) -> list[tuple[str, str]]:
    """Each Python block with the text block that follows it."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [
        (code, text) for (a, code), (b, text) in pairwise(blocks) if (a, b) == ("python", "text")
    ]


@pytest.mark.parametrize("page", [p for p in PAGES if shown(p)], ids=lambda p: p.name)
def test_a_page_shows_what_its_code_prints(page: Path):
    """All blocks in one process, one after the other."""
    script = f"\nprint({MARK!r})\n".join(code for code, _ in shown(page))
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", script], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split(MARK + "\n") == [text for _, text in shown(page)]


def test_some_page_shows_code():
    assert any(shown(page) for page in PAGES)

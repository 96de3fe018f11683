"""What users read is in plain English: words that only their author understood stay out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PRIVATE = {
    "tells from n": "useful from n",
    '"as at first"': "reset",
    "rests on the word of": "no file can prove",
    '"says something"': "informative",
    "nats pay for": "nats for reading off",
}
SINGULAR = re.compile(
    r"(?<![\d.,\^/-])\b1 (?:errors|numbers|examples|rows|picks|fields|questions|statements|forms)\b"
)


def pages() -> dict[str, str]:
    """Everything that users read: pages, commands, the explorer."""
    package = ROOT / "src" / "dudley"
    paths = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *package.rglob("*.py")]
    paths += [*(package / "web" / "static").glob("*.js"), *package.glob("web/static/*.html")]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return pages()


def private(text: str) -> list[str]:
    return [words for words in PRIVATE if words in text]


def test_no_private_words(texts):
    assert {"README.md", "docs/glossary.md", "src/dudley/show/cells.py"} <= set(texts)
    assert {name: private(text) for name, text in texts.items() if private(text)} == {}


def test_one_thing_is_not_many(texts):
    shown = {name: text for name, text in texts.items() if not name.endswith(".py")}
    plurals = {name: SINGULAR.findall(text) for name, text in shown.items()}
    assert {name: words for name, words in plurals.items() if words} == {}


def test_what_was_wrong_would_be_seen():
    assert private("  derived  tells from n") == ["tells from n"]
    assert SINGULAR.findall("1 errors, 11 errors, 1 error, 0.1 rows, 1 rows") == [
        "1 errors",
        "1 rows",
    ]

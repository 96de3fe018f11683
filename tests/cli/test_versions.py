"""Nothing is called false without the version of the paper that was examined."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dudley.core.paper import Paper
from dudley.core.verdict import Extent, Repair, Verdict
from dudley.show.as_html import html
from dudley.show.pages.comparison import document as compared
from dudley.theorems import registry
from dudley.theorems.comparison import compare
from each import each

ROOT = Path(__file__).resolve().parents[2]
STATEMENTS = dict(registry.load().items())
NAMED = re.compile(rf"({'|'.join(registry.SHIPPED)})/[a-z]+-[\w.]*\w")
CALLED = re.compile(r"\bfalse\b|\brefuted\b|†")
PAGES = ["README.md", "ERRATA.md", *sorted(p.relative_to(ROOT) for p in ROOT.glob("docs/**/*.md"))]
FALSE = "trauger2024/lemma-3.5"
VALUES = {"d": 64, "k": 64, "X.row2inf": 1.0, "W.l11": 2.0, "epsilon": 0.5}


def unversioned(text: str) -> list[str]:
    """Lines that call a statement false, in a text that does not name the version examined.

    A row of findings about a hypothesis of ours is none, whatever statements it ranks.
    """
    lines = []
    for line in text.splitlines():
        name = NAMED.search(line)
        if name is not None and CALLED.search(line) and "| our hypothesis |" not in line:
            paper = registry.PAPERS[name[1]]
            if paper.label not in text and paper.version not in text:
                lines.append(line)
    return lines


@each("page", PAGES)
def test_no_page_calls_a_statement_false_without_its_version(page):
    assert unversioned((ROOT / page).read_text(encoding="utf-8")) == []


@each(
    "command",
    [
        "theorems",
        "theorems --paper li2026",
        f"theorems show {FALSE}",
        f"evaluate {FALSE} d=8 k=8 W.row21=1 X.row2inf=1 n=100 epsilon=0.5",
        "compare " + " ".join(f"{name}={value}" for name, value in VALUES.items()),
        f"audit {FALSE}",
    ],
)
def test_no_command_does(dudley, command: str):
    done = dudley(*command.split())
    assert "false" in done.out or "refuted" in done.out
    assert unversioned(done.out) == []


@each("command", ["theorems", f"theorems show {FALSE}", f"audit {FALSE}"])
def test_json_carries_both_what_was_examined_and_what_was_not(dudley, command: str):
    for item in dudley(*command.split(), "--json").json()["items"]:
        verdict = item["verdict"]
        paper = registry.PAPERS[(item.get("id") or item["statement"]).partition("/")[0]]
        assert (verdict["examined"], verdict["unexamined"]) == (paper.version, paper.unexamined)


def test_a_page_of_a_comparison_does_too():
    page = html(compared(compare(VALUES, "n=1e3:1e7:log5")))
    assert registry.PAPERS["trauger2024"].version in page


def test_the_record_of_the_picture_has_the_words_of_the_registry():
    record = json.loads((ROOT / "results/certificates/picture.json").read_text(encoding="utf-8"))
    rows = [row for row in record["standing"]["rows"] if row["kind"] == "published"]
    assert rows and {r["name"]: r["verdict"] for r in rows} == {
        r["name"]: STATEMENTS[r["name"]].standing for r in rows
    }


def test_the_check_can_fail():
    line = "| trauger2024/lemma-3.5 | false |"
    assert unversioned(line) == [line]
    assert unversioned(f"{line}\n{registry.PAPERS['trauger2024'].label}") == []


def test_a_version_is_part_of_the_word_false():
    for s in STATEMENTS.values():
        assert isinstance(s.source, Paper)
        assert (s.source.label in s.standing) == s.verdict.is_false


@pytest.mark.parametrize(
    "axes", [("false", Repair.NOTHING, Extent.EDGE), ("true", Repair.SYMBOL, Extent.EDGE)]
)
def test_verdicts_that_contradict_themselves_are_refused(axes):
    from dudley.core.errors import InputError
    from dudley.core.verdict import AsPrinted

    word, repair, fails = axes
    with pytest.raises(InputError):
        Verdict(AsPrinted(word), repair, fails)

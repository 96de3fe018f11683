"""Pages of the laboratory: question, verdicts, numbers, provenance; and none where none is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dudley.lab.conduct import conduct
from dudley.lab.experiment import EXPERIMENTS
from dudley.lab.pages import page
from dudley.lab.pages.numbers import numbers
from dudley.lab.pages.results import committed
from lab_toy import Toy


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(EXPERIMENTS._units, Toy.name, Toy())
    conduct(Toy.name, "paper", tmp_path / Toy.name / "paper")
    conduct(Toy.name, "laptop", tmp_path / Toy.name / "laptop")
    return tmp_path


def test_a_page_says_all(root: Path):
    text = page.page(Toy(), committed(Toy.name, root))
    for part in (
        "# toy-line", "Does y grow with x?", "nobody 2000, figure 1",
        "## Found at scale `paper`", "## Found at scale `laptop`", "**reproduced**",
        "**undecided**", "the slope is 2.0", "seeds 7", "Made on a processor", "torch",
        "figures/toy-line-paper-finding-1.svg", "y = 2x + noise.", "| `points` | 100 |",
        "the paper's", "our hypothesis", "### The readings behind the verdicts",
        "| what grows means | slope above 1 | nobody says | holds |",
    ):  # fmt: skip
        assert part in text, part
    assert text.count(".svg)") == 1  # the figures of the largest scale only


def test_what_a_record_lacks_is_said_first(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Toy, "caveat", lambda self, config: "no other x was run")
    text = page.page(Toy(), committed(Toy.name, root))
    line = "**Not yet run.** At scale `paper`: no other x was run."
    assert line in text and text.index(line) < text.index("## Found at scale")
    assert "1 undecided; no other x was run" in page.index(root)


def test_the_scalings_of_pixels_are_missing_from_a_record_without_them():
    mnist = EXPERIMENTS["mwigo2026-mnist"]
    config = mnist.config("paper")
    plain = [grid for grid in config["grids"] if grid["reading"] in ("printed", "longer")]
    assert mnist.caveat(config) == ""
    assert "scalings of pixels were not yet run" in mnist.caveat(config | {"grids": plain})


def test_no_table_is_cut_by_a_bar(root: Path):
    text = page.page(Toy(), committed(Toy.name, root))
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) > 4
    for table in tables:
        bars = {re.sub(r"\\\|", "", line).count("|") for line in table.splitlines()}
        assert len(bars) == 1, table


def test_without_results_a_page_says_so(root: Path):
    text = page.page(Toy(), {})
    assert "**No results are committed yet**" in text and "verdict" not in text
    assert "Everything chosen at scale laptop" in text


def test_the_index_lists_every_experiment(root: Path):
    text = page.index(root)
    assert (
        "[toy-line](toy-line.md)" in text
        and "paper: the paper's claims: 1 reproduced; our hypotheses: 1 undecided" in text
    )
    assert set(page.pages(root)) == {"index.md", *(f"{name}.md" for name in EXPERIMENTS)}


def test_long_tables_are_folded_and_cut():
    rows = [{"T": T, "m": 2 * T} for T in range(60)]
    text = numbers({"cells": rows})
    assert text.startswith("<details>") and "the first 48 of 60 rows" in text
    assert "| 47 | 94 |" in text and "| 48 | 96 |" not in text


def test_infinities_are_signs_and_nothing_is_lost():
    text = numbers({"a": {"b": float("inf"), "c": [float("-inf"), 1.0]}, "d": "x|y"})
    assert "| a b | ∞ |" in text and "| a c | −∞ to 1 |" in text and "x\\|y" in text

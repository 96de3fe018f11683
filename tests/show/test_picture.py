"""The picture and its tables, from a record."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dudley.certificates.standing import Standing, StandingRow, from_json
from dudley.show import standing
from dudley.show.as_text import text
from dudley.show.figures import picture

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "results/certificates/picture.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def example() -> Standing:
    return from_json(RECORD["standing"])


def test_every_row_is_in_the_tables(example):
    printed, page = text(standing.document(example)), standing.markdown(example)
    lines = " ".join(printed.split())
    for row in example.rows:
        short = row.name.partition("/")[2] or row.name
        assert short in lines and short in page, row.name
    for row in example.refused_rows:
        assert row.refused.replace("|", "\\|") in page


def test_the_compact_table_has_certificates_and_one_line_a_paper(example):
    table = standing.compact(example)
    lines = table.partition("\n\n")[0].splitlines()[2:]
    papers = [line.split("/")[0].strip("| `") for line in lines[4:]]
    assert len(lines) == 8 and len(set(papers)) == 4
    assert "°" not in table  # each paper has a bound that holds with confidence


def test_equal_rows_of_one_paper_are_one_line(example):
    rows = standing.merged(example.of("published"))
    assert "edelman2021/corollary-4.4, lemma-A.11, lemma-A.12" in [row.name for row in rows]
    assert len(rows) < len(example.of("published"))
    other = StandingRow("p/b", "published", value=1.0, verdict="false (v1)")
    assert len(standing.merged([StandingRow("p/a", "published", value=1.0), other])) == 2


def test_the_record_is_what_the_picture_claims(example):
    """The certificates are below guessing, proved bounds of the papers above it, at this n."""
    assert example.n == RECORD["config"]["n"] == 100_000 and example.delta == 0.05
    assert {"python", "numpy", "torch"} <= set(RECORD["provenance"])
    for row in example.of("certificate"):
        assert (
            example.test["error"] <= row.value < example.guess and row.needed["value"] < example.n
        )
    assert len(example.of("certificate")) == 3 and len(example.of("baseline")) == 1
    for row in example.of("published"):
        assert row.value > 1 and row.needed["value"] > example.n
        assert row.best is not None and row.best <= row.value * (1 + 1e-9)


@pytest.mark.slow
def test_the_same_numbers_make_the_same_bytes(example, tmp_path):
    for name in ("a.svg", "b.svg"):
        picture.draw(example, [tmp_path / name])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_picture_without_test_set_or_published_bounds(example, tmp_path):
    rows = tuple(row for row in example.rows if row.kind == "certificate")
    picture.write(replace(example, rows=rows, test={}), tmp_path / "new")
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["picture.json", "picture.md", "picture.png", "picture.svg"]
    assert "No test set" in (tmp_path / "new" / "picture.md").read_text(encoding="utf-8")
    again = json.loads((tmp_path / "new" / "picture.json").read_text(encoding="utf-8"))
    assert from_json(again).rows == rows

"""A document on a terminal: aligned, within its width, and unable to steer it."""

from __future__ import annotations

import pytest

from dudley.show import document as doc
from dudley.show.as_text import text


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch):
    return lambda n: monkeypatch.setenv("COLUMNS", str(n))


def shown(*blocks: doc.DocumentBlock) -> list[str]:
    return text(doc.Document("Title", blocks)).split("\n")


TABLE = doc.Table.of(
    ["name", "n", "why"],
    [
        ["first", doc.Cell("10", 10.0), "a reason that is so long that it must be broken once"],
        ["first", doc.Cell("2", 2.0), "short"],
    ],
)


def test_numbers_stand_at_the_right_and_sentences_below_themselves(columns):
    columns(44)
    assert shown(TABLE) == [
        "Title",
        "name    n  why",
        "first  10  a reason that is so long that it",
        "           must be broken once",
        "first   2  short",
    ]


def test_a_wide_table_has_one_space_between_its_columns(columns):
    columns(40)
    rows = [[name, doc.Cell("10", 10.0), "w" * 31] for name in ("first", "last")]
    assert shown(doc.Table.of(["name", "n", "word"], rows)) == [
        "Title",
        "name   n word",
        "first 10 " + "w" * 31,
        "last  10 " + "w" * 31,
    ]


def test_a_wider_table_gives_its_first_column_lines_of_its_own(columns):
    columns(40)
    rows = [[name, doc.Cell("10", 10.0), "w" * 32] for name in ("first", "first", "second")]
    assert shown(doc.Table.of(["name", "n", "word"], rows)) == [
        "Title",
        "   n  word",
        "first",
        "  10  " + "w" * 32,
        "  10  " + "w" * 32,
        "second",
        "  10  " + "w" * 32,
    ]


def test_a_table_that_is_wider_still_becomes_a_list(columns):
    columns(40)
    rows = [["first", doc.Cell("1" * 25, 1.0), doc.Cell("2" * 25, 2.0)]]
    assert shown(doc.Table.of(["name", "a", "b"], rows)) == [
        "Title",
        "first",
        "  a: " + "1" * 25,
        "  b: " + "2" * 25,
    ]


def test_sections_are_set_off_and_indented():
    blocks = (
        doc.Section("Part", (doc.Properties((("name", "text"),)), doc.Points(("point",)))),
        doc.Folded("Rest", (doc.Points(("bare",), mark=""), doc.Formula("a+b"))),
    )
    assert shown(*blocks) == [
        "Title",
        "",
        "Part",
        "  name               text",
        "  · point",
        "",
        "Rest:",
        "  bare",
        "  a+b",
    ]


def test_a_chart_is_the_table_of_its_ends():
    curve = doc.Line("bound", (0.0, 7.5))
    assert shown(doc.Chart("n", "", (1.0, 1e6), (curve,))) == [
        "Title",
        "curve  n = 1  n = 1e6",
        "bound  1      10^7.50",
    ]


def test_nothing_that_a_stranger_wrote_steers_the_terminal():
    bad = "x\x1b[2J\u202ey"
    blocks = (
        doc.Prose(bad), doc.Notice(bad, "no"), doc.Formula(bad), doc.Listing(bad),
        doc.Points((bad,)), doc.Properties(((bad, bad),)), doc.Table.of([bad, "n"], [[bad, bad]]),
        doc.Chart(bad, bad, (1.0, 2.0), (doc.Line(bad, (1.0, None)),)), doc.Picture("", bad),
        doc.Folded(bad, ()), doc.Section(bad, ()),
    )  # fmt: skip
    whole = text(doc.Document(bad, blocks, lead=(bad,), made=bad))
    assert "\x1b" not in whole and "\u202e" not in whole
    assert whole.count(r"x\x1b[2J\u202ey") == 19


def test_what_stands_on_a_line_of_its_own_is_ours():
    assert shown(doc.Points(("a\nholds",))) == ["Title", "· a holds"]
    assert shown(doc.Properties((("a\nholds", "b"),)))[1].startswith(r"a\nholds")

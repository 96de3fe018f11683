"""`dudley compare`: tables for people, JSON for programs, files that are whole or absent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dudley.theorems import comparison

WORDS = ("d=8", "k=8", "X.row2inf=1", "W.l11=2", "epsilon=0.5")
NET = ("d=8", "k=8", "X.row2inf=1", "sigma.lipschitz=1", "W_QK.l11=2", "W_v.l11=1", "W_c.l11=1")
AXIS = ("--sweep", "n=1e3:1e7:log5")


def test_one_point(dudley, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    done = dudley("compare", *WORDS, "n=1e5")
    assert done.code == 0 and done.err == ""
    assert re.search(r"trauger2024/lemma-3\.6 +true +\S+ +\S+ +\S+\n", done.out)
    assert "covering number of linear maps\n" in done.out
    assert "Rademacher complexity of linear maps\n" in done.out
    assert "X.row1inf ≤ 2.82843 from X.row2inf and d" in done.out
    assert "missing, for " in done.out


def test_a_sweep_tells_both_ends_and_where_it_begins_to_tell(dudley, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    done = dudley("compare", *WORDS, *AXIS)
    assert "Rademacher complexity of linear maps, n from 1000 to 1e7" in done.out
    assert re.search(r"section-2\.5 .* → .* \d+\n", done.out)
    assert "useful from n\n" in done.out


def test_nothing_is_wider_than_the_terminal(dudley, monkeypatch):
    for columns in (60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        done = dudley(
            "compare", *NET, "w.l1=1", "epsilon=0.5", "L=2", "margin=1", *AXIS, "--missing"
        )
        wide = [line for line in done.out.splitlines() if len(line) > columns]
        assert [line for line in wide if len(line.split()) > 2] == []


def test_marks_and_readings_are_explained(dudley):
    done = dudley("compare", *NET, "w.l1=1", "class.C=3", "class.radius=1", "n=1e5", "margin=2")
    assert "~ up to a constant" in done.out
    assert "class.C in trauger2024/theorem-4.1" in done.out
    assert re.search(r"not used: .*margin", done.out)


def test_negative_printed_values_say_so(dudley, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    done = dudley("compare", *NET, "w.l1=1", "n=100", "--paper", "trauger2024")
    assert re.search(r"corollary-D\.0\.1 +false \(AISTATS 2024\) +~-[\d.]+!", done.out)
    assert "! negative" in done.out


def test_json_obeys_the_schema(dudley):
    for words in ((*WORDS, "n=1e5"), (*WORDS, *AXIS)):
        (item,) = dudley("compare", *words, "--json").json()["items"]
        assert item["rows"] and item["missing"] and item["derived"]
    assert [len(v) for row in item["rows"] for v in row["forms"].values()].count(5) > 5


def test_papers_and_forms(dudley, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    done = dudley("compare", *WORDS, "n=1e5", "--paper", "trauger2024", "--form", "derived")
    assert "trauger2024/" in done.out and "edelman2021/" not in done.out
    assert "printed" not in done.out.splitlines()[1]


@pytest.mark.parametrize("ending", ["svg", "pdf", "png", "html"])
def test_it_writes_a_file(dudley, tmp_path: Path, ending: str):
    if ending != "html":
        pytest.importorskip("matplotlib")
    file = tmp_path / f"figure.{ending}"
    done = dudley("compare", *WORDS, *AXIS, "--out", file, "--paper", "trauger2024")
    assert done.code == 0 and f"written: {file}" in done.out
    assert file.stat().st_size > 10_000 and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "f.gif", *AXIS), "ends in .svg, .pdf, .png, .html"),
        (("--out", "no/such/f.svg", *AXIS), "a folder that exists"),
        (("--out", "f.svg"), "an axis, such as --sweep"),
        (("--sweep", "n=1e3"), "NAME=FROM:TO"),
        (("--sweep", "m=1:9:log3"), "unknown name 'm'"),
        (("--paper", "trauger"), "did you mean trauger2024"),
        (("--form", "nice"), "unknown form"),
        (("W_QK.l12=3",), "did you mean"),
        (("B_x=3",), "unknown name 'B_x'"),
        (("n=1e5", "n=1e6"), "n: expected one value"),
        (("r_v=9",), "a rank of at most 8"),
        (("W_v.op=nan",), "a finite number"),
    ],
)
def test_bad_input_is_refused_before_anything_is_computed(
    dudley, tmp_path, monkeypatch, words, message: str
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "_Curves", lambda *_: pytest.fail("computed"))
    assert message in dudley("compare", *WORDS, *words).refused()
    assert not list(tmp_path.iterdir())


def test_all_as_gaps_best_first(dudley, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    words = (*NET, "w.l1=1", "T=8", "n=1e6", "margin=0.5", "delta=0.1", "--as", "gap")
    done = dudley("compare", *words)
    assert done.code == 0 and "best first at n = 1e6\n" in done.out
    assert "at least 0.9 (delta = 0.1) over 1e6 examples, for the ramp at margin 0.5" in done.out
    ids = re.findall(r"^  (\w+/\S+) .* 0\.\d+$", done.out, re.M)
    assert "calculus/gap" in ids and "trauger2024/corollary-4.1.1" in ids
    assert "an excess risk does not bound risk − training loss: " not in done.out  # none applies
    assert "chained, then 2R + deviation (assumed: the loss is Lipschitz in" in done.out
    (item,) = dudley("compare", *words, "--json").json()["items"]
    ranked = [row["id"] for row in item["rows"]]
    assert [id for id in ranked if id in ids] == ids
    assert item["loss"]["lipschitz"] == 2 and item["unconverted"]


def test_gaps_make_a_figure_and_a_page(dudley, tmp_path: Path):
    pytest.importorskip("matplotlib")
    words = ("n=1e5", "X.row2inf=1", "w.l2=1", "d=8", "--as", "gap", "--sweep", "n=1e3:1e6:log4")
    for ending in ("svg", "html"):
        assert dudley("compare", *words, "--out", tmp_path / f"gaps.{ending}").code == 0
    page = (tmp_path / "gaps.html").read_text(encoding="utf-8")
    assert "risk − training loss of linear functions" in page
    assert "n, the number of examples" in dudley("compare", "d=8", "--as", "gap").refused()
    assert "'kind', 'gap'" in dudley("compare", "d=8", "--as", "nice").refused()


def test_what_does_not_depend_on_the_axis_is_named(dudley):
    swept = dudley("compare", *WORDS, "n=1e5", "--sweep", "T=4:4096:log3").out
    assert "T from 4 to 4096\n" in swept
    assert re.search(r"does not depend on T: (\w+/\S+,\s+)*trauger2024/lemma-3\.6", swept)


def test_nothing_given_says_what_is_missing(dudley):
    done = dudley("compare")
    assert done.code == 0 and "missing, for " in done.out
    assert "\n\n\n" not in done.out


def test_what_is_derived_from_the_axis_says_where(dudley):
    swept = dudley("compare", *WORDS, "--sweep", "d=4:16:lin3").out
    assert "derived from what is given at d = 4:\n" in swept and "X.row1inf ≤ 2 from" in swept
    assert "derived from what is given:\n" in dudley("compare", *WORDS, *AXIS).out

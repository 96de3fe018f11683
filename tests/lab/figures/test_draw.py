"""Figures of the laboratory: drawn from results alone, the same bytes twice, with captions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dudley.core.errors import InputError, UnknownName
from dudley.lab.conduct import conduct
from dudley.lab.experiment import EXPERIMENTS, Finding
from dudley.lab.figures import draw
from dudley.lab.figures.sketch import Sketch, sentence_of
from dudley.lab.finding import SMOKE
from dudley.lab.pages.results import Results, committed, finished
from dudley.show.figures import style
from lab_toy import Toy


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.setitem(EXPERIMENTS._units, Toy.name, Toy())
    conduct(Toy.name, "smoke", tmp_path / "run")
    return Results(tmp_path / "run")


def test_results_are_read(results: Results):
    assert (results.name, results.scale, results.tables) == ("toy-line", "smoke", ["line"])
    assert results.table("line")["x"].tolist() == [0, 1, 2, 3, 4]
    assert 1.5 < results.number("slope") < 2.5 and results.has("interval")
    assert results.with_number("far").answer == "undecided"
    with pytest.raises(UnknownName, match="did you mean slope"):
        results.number("slopes")
    with pytest.raises(UnknownName, match="did you mean line"):
        results.table("lines")


def test_a_folder_without_results_is_refused(tmp_path: Path, results: Results):
    with pytest.raises(InputError, match="results folder"):
        Results(tmp_path)
    (results.folder / "findings.json").unlink()  # a run that was broken off
    assert not finished(results.folder)


def test_committed_results_come_largest_scale_first(tmp_path: Path, results: Results):
    for scale in ("laptop", "smoke", "paper"):
        conduct(Toy.name, scale, tmp_path / Toy.name / scale)
    assert list(committed(Toy.name, tmp_path)) == ["paper", "laptop", "smoke"]
    assert committed("nothing", tmp_path) == {}


def test_an_experiment_without_figures_of_its_own_has_plain_ones(results: Results):
    (sketch,) = draw.figures(results)
    assert sketch.findings == (results.findings[0],)
    assert f"Claim: y grows with x. Here, {SMOKE}: the slope is" in sketch.caption


def test_figures_are_the_same_twice_and_nothing_is_left_over(results: Results, tmp_path: Path):
    (drawing,) = draw.draw(results, tmp_path / "a")
    (two,) = draw.draw(results, tmp_path / "b")
    names = ["toy-line-smoke-finding-1.svg", "toy-line-smoke-finding-1.png"]
    assert [path.name for path in drawing[1]] == names
    for a, b in zip(drawing[1], two[1], strict=True):
        assert a.read_bytes() == b.read_bytes() and a.stat().st_size > 5_000
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(names)


def test_other_numbers_give_another_figure(results: Results, tmp_path: Path):
    draw.draw(results, tmp_path / "a", (".svg",))
    file = results.folder / "findings.json"
    findings = json.loads(file.read_text())
    findings[0]["numbers"]["line"][2]["y"] += 1
    file.write_text(json.dumps(findings))
    draw.draw(Results(results.folder), tmp_path / "b", (".svg",))
    (a,), (b,) = ((tmp_path / name).iterdir() for name in "ab")
    assert a.read_bytes() != b.read_bytes()


def test_a_figure_that_fails_leaves_nothing(tmp_path: Path):
    def broken(axes):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        draw.render(Sketch("x", "y", broken), [tmp_path / "x.svg"])
    assert list(tmp_path.iterdir()) == []


def test_neighbouring_curves_differ_in_colour_line_and_marker():
    for make in (style.distinct, lambda i: style.ordered(i, 7)):
        for i in range(6):
            first, second = make(i), make(i + 1)
            assert all(first[part] != second[part] for part in ("color", "ls", "marker"))


def test_what_is_ordered_gets_lighter():
    lights = [sum(style.ordered(i, 5)["color"][:3]) for i in range(5)]
    assert lights == sorted(lights)


def test_a_finding_beyond_the_paper_is_called_ours():
    assert sentence_of(Finding.of_question("a", "b.")) == "Our question: a. Here: b."
    refuted = Finding.of_hypothesis("a", "refuted", "b.")
    assert sentence_of(refuted) == "Our hypothesis: a. Here, refuted: b."

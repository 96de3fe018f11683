"""Figures: what is drawn, the same bytes for the same numbers, nothing half-written."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from dudley.core.errors import InputError
from dudley.core.extras import ExtraMissing
from dudley.core.files import expect_place, written
from dudley.show.figures import figure
from dudley.show.figures.curves import panels
from dudley.theorems.comparison import compare

HERE = {
    "d": 8, "k": 8, "n": 1e5, "X.row2inf": 1.0, "sigma.lipschitz": 1.0, "W_QK.l11": 2.0,
    "W_v.l11": 1.0, "W_c.l11": 1.0, "w.l1": 1.0, "epsilon": 0.5,
}  # fmt: skip


@pytest.fixture(scope="module")
def swept():
    return compare(HERE, "n=1e2:1e8:log7", papers=("trauger2024",))


def test_panels_hold_every_curve_that_has_a_value(swept):
    shown = {panel.heading: panel for panel in panels(swept)}
    assert list(shown) == [
        "Rademacher complexity of linear maps",
        "Rademacher complexity of one head",
        "covering number of linear maps",
    ]
    maps, head, covers = shown.values()
    labels = [curve.label for panel in shown.values() for curve in panel.curves]
    assert "trauger2024/corollary-4.1.1 printed, false (AISTATS 2024)" in labels
    assert "trauger2024/section-2.5 derived, parameter counting" in labels
    assert "1" in [level.label for level in maps.levels]
    assert any(level.label.startswith("trivial: ") for level in head.levels)
    assert not [level for level in covers.levels if level.label == "1"]


def test_what_does_not_move_is_flat_and_named():
    shown = {panel.heading: panel for panel in panels(compare(HERE, "T=2:512:log4"))}
    words = {c.label: c.still for panel in shown.values() for c in panel.curves}
    assert words["trauger2024/lemma-3.6 derived"] == "does not depend on T"
    assert words["trauger2024/corollary-4.1.1 derived"] == "the same at every T here"
    assert words["edelman2021/corollary-4.4 derived"] == ""
    for panel in shown.values():
        assert all(len(set(c.log10)) == 1 for c in panel.curves if c.still), panel.heading


def test_statements_of_one_panel_differ_in_colour_and_marker():
    looks = [figure.style(order) for order in range(56)]
    assert len(set(looks)) == 56
    for first, second in pairwise(looks):
        assert first[0] != second[0] and first[1] != second[1]


def test_negative_values_are_gaps_that_are_marked(swept):
    row = swept.row("trauger2024/corollary-D.0.1")
    (curve,) = [
        c for p in panels(swept) for c in p.curves if c.id == row.id and c.form == "printed"
    ]
    negative = [i for i, b in enumerate(row.bounds("printed")) if b.negative is not None]
    assert negative and list(curve.below) == negative
    assert all(curve.log10[i] is None for i in negative)
    assert all(y is not None for i, y in enumerate(curve.log10) if i not in negative)


def test_a_curve_past_the_floats_is_drawn_by_its_logarithm():
    situation = {**HERE, "L": 96, "T": 8, "W_QK.l11": 1e9}
    comparison = compare(situation, "W_v.l11=10:100:log3", papers=("edelman2021",))
    every = [y for p in panels(comparison) for c in p.curves for y in c.log10 if y is not None]
    assert max(every) > 400


@pytest.mark.parametrize("ending", figure.ENDINGS)
def test_a_figure_is_the_same_twice(tmp_path: Path, ending: str):
    pytest.importorskip("matplotlib")
    one_panel = compare({"d": 8, "k": 8, "X.row2inf": 1.0, "W.l11": 2.0}, "n=1e2:1e8:log3")
    for name in ("one", "two"):
        figure.draw(one_panel, tmp_path / f"{name}{ending}")
    first, second = ((tmp_path / f"{name}{ending}").read_bytes() for name in ("one", "two"))
    assert first == second and len(first) > 10_000
    assert len(list(tmp_path.iterdir())) == 2


def test_without_matplotlib_there_is_one_clear_refusal(swept, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExtraMissing, match=r"pip install '\.\[plots\]'"):
        figure.draw(swept, tmp_path / "f.svg")
    assert not list(tmp_path.iterdir())


def test_a_figure_needs_an_axis():
    with pytest.raises(InputError, match="a sweep"):
        panels(compare(HERE, papers=("trauger2024",)))


def test_what_fails_leaves_the_old_file_and_no_other(tmp_path: Path):
    file = tmp_path / "f.svg"
    file.write_text("old")
    with pytest.raises(RuntimeError), written(file) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert file.read_text() == "old" and list(tmp_path.iterdir()) == [file]
    with written(file) as temporary:
        temporary.write_text("new")
    assert file.read_text() == "new" and list(tmp_path.iterdir()) == [file]


def test_places_that_cannot_be_written_are_refused(tmp_path: Path):
    for path in (tmp_path / "f.gif", tmp_path / "f", tmp_path / "no" / "f.svg"):
        with pytest.raises(InputError, match="--out"):
            expect_place(path, figure.ENDINGS)
    (tmp_path / "d.svg").mkdir()
    with pytest.raises(InputError, match="a file, got the folder"):
        expect_place(tmp_path / "d.svg", figure.ENDINGS)

"""Every figure of the committed results: each curve has a name and a look, and none is covered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.collections import PolyCollection

from dudley.lab.experiments.edelman2021_parity.figures import shares
from dudley.lab.experiments.li2026_excess.figures import smallest
from dudley.lab.figures import draw
from dudley.lab.figures.halfway_points import halfway_points
from dudley.lab.figures.sketch import SKETCHES, Sketch
from dudley.lab.pages.results import Results, committed
from dudley.lab.shared.beyond_figures import SPAN, panels
from dudley.show.figures import style
from dudley.show.figures.drawing import Drawing, painted
from each import each
from figure_looks import complaints, series


def largest(name: str) -> Results:
    return next(iter(committed(name).values()))


def sketch_of(name: str, figure: str) -> Sketch:
    return next(sketch for sketch in draw.figures(largest(name)) if sketch.name == figure)


def test_committed_figures_can_be_read_and_bare_ones_have_no_prose():
    wrong, count = [], 0
    for name in SKETCHES:
        for sketch in draw.figures(largest(name)):
            count += 1
            with painted(sketch) as figure:
                figure.canvas.draw()
                said = complaints(figure)
            with painted(sketch, bare=True) as figure:
                said += [f"bare, and says {text}" for text in prose(figure)]
            wrong += [f"{name} {sketch.name}: {complaint}" for complaint in said]
    assert count > 20 and wrong == []


def prose(figure) -> list[str]:
    """Text that is no name of an axis, no tick and no entry of a legend."""
    texts = [axis.get_title(loc) for axis in figure.axes for loc in ("left", "center", "right")]
    texts += [text.get_text() for axis in figure.axes for text in axis.texts]
    texts += [text.get_text() for text in figure.texts]  # the caption is one of these
    return list(filter(None, texts))


# Figures with one fault each: what the checks above must see.


def legend_over_bars(axes):
    axes[0].bar(range(5), [1.0] * 5, label="bars")
    axes[0].legend(loc="center")


def legend_over_a_line(axes):
    axes[0].plot([0, 1], [0, 1], label="line")
    axes[0].legend(loc="center")


def one_look_for_two(axes):
    for shift in (0, 1):
        axes[0].plot([0, 1], [shift, shift], color="black", marker="o", label=f"curve {shift}")
    style.legend_above(axes[0])


def no_legend(axes):
    axes[0].plot([0, 1], [0, 1], label="line")


def no_label(axes):
    axes[0].plot([0, 1], [0, 1], color="black", label="line")
    axes[0].plot([0, 1], [1, 0], color="red")
    style.legend_above(axes[0])


def name_too_long(axes):
    axes[0].set_xlabel("a name of an axis " * 9)


FAULTS = [
    ("bars", legend_over_bars, "covers"),
    ("line", legend_over_a_line, "covers"),
    ("look", one_look_for_two, "2 series have"),
    ("legend", no_legend, "no legend names line"),
    ("label", no_label, "has no name"),
    ("cut", name_too_long, "sticks out"),
]


@each("name, paint, complaint", FAULTS)
def test_each_fault_is_seen(name, paint, complaint):
    with painted(Drawing(name, "", paint)) as figure:
        figure.canvas.draw()
        (said,) = complaints(figure)
    assert complaint in said


def test_prose_is_seen_and_a_bare_figure_keeps_the_setting():
    def paint(axes):
        style.setting(axes[0], "T = 10")
        style.note(axes[0], "a remark")
        axes[0].set_xlabel("step")

    drawing = Drawing("x", "A caption.", paint)
    with painted(drawing) as figure:
        assert prose(figure) == ["T = 10", "a remark", "A caption."]
    with painted(drawing, bare=True) as figure:
        assert prose(figure) == [] and figure.axes[0].get_xlabel() == "step   (T = 10)"


def test_a_heading_that_is_a_sentence_is_no_setting():
    with painted(Drawing("x", "", lambda axes: axes[0].set_title("It holds.")), True) as figure:
        assert prose(figure) == [] and figure.axes[0].get_xlabel() == ""


def test_bare_files_have_no_caption(tmp_path: Path):
    results = largest("edelman2021-parity")
    files = {
        bare: draw.draw(results, tmp_path / str(bare), (".svg",), bare=bare)
        for bare in (False, True)
    }
    for (sketch, (full,)), (_, (plain,)) in zip(files[False], files[True], strict=True):
        words = sketch.shows.split()[0]
        captioned, text = full.read_text(), plain.read_text()
        # matplotlib writes each text beside its glyphs
        assert f"<!-- {words}" in captioned and "dc:description" in captioned
        assert f"<!-- {words}" not in text and "dc:description" not in text
        assert "<!-- step" in text


def test_words_alone_have_no_bare_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wordy = Sketch("verdicts", "Words.", lambda axes: None, prose=True)
    monkeypatch.setattr(draw, "figures", lambda results: [wordy])
    results = largest("edelman2021-parity")
    assert draw.draw(results, tmp_path, (".svg",), bare=True) == []
    assert len(draw.draw(results, tmp_path, (".svg",))) == 1


@each("name, figure", [("edelman2021-and-far", "success"), ("edelman2021-parity", "waiting")])
def test_bands_do_not_cover_each_other(name, figure):
    with painted(sketch_of(name, figure)) as drawn:
        bands = [
            sum(isinstance(part, PolyCollection) for part in axis.collections)
            for axis in drawn.axes
        ]
    assert sum(bands) >= 5 and max(bands) == 1


def test_points_of_success_curves_are_where_half_succeed():
    m = np.arange(50, 201, 10)
    rows = [
        {"T": T, "m": int(x), "successes": round(1000 / (1 + (half / x) ** 8)), "trials": 1000}
        for T, half in ((100, 100.0), (200, 230.0))
        for x in m
    ]
    rows += [{"T": 400, "m": int(x), "successes": 0, "trials": 1000} for x in m]
    inside, beyond = halfway_points(rows)
    for point, half in ((inside, 100.0), (beyond, 230.0)):
        low, high = point.interval
        assert low < half < high and low < point.m < high and high / low < 1.1
    assert not inside.beyond and beyond.beyond
    with painted(sketch_of("edelman2021-and", "success")) as figure:
        (points,) = [c for c in figure.axes[1].containers if c.get_label() == "m½"]
        drawn = points.lines[0].get_ydata()
    rates = largest("edelman2021-and").with_number("rates").numbers["rates"]
    assert np.allclose(drawn, [point.m for point in halfway_points(rates) if not point.beyond])


def test_bounds_do_not_jump_where_a_statement_ends():
    with painted(sketch_of("li2026-excess", "classes")) as figure:
        axis = next(axis for axis in figure.axes if axis.get_label() == "noisy constants")
        lines = [line for line in axis.lines if "derived" in line.get_label()]
        assert len(lines) == 2
        assert all(np.all(np.diff(line.get_ydata()) < 0) for line in lines)


def test_the_smallest_bound_is_of_statements_that_reach_every_n():
    rows = [("a", n, 10.0 / n) for n in (1, 2, 3)] + [("b", n, 1.0 / n) for n in (1, 2)]
    statement, n, value = (np.array(column) for column in zip(*rows, strict=True))
    fixed = {"name": np.array(["x"] * 5), "form": np.array(["derived"] * 5)}
    least = smallest(fixed | {"statement": statement, "n": n, "value": value})
    assert least["n"].tolist() == [1, 2, 3] and np.allclose(least["value"] * least["n"], 10.0)


def test_two_budgets_have_two_markers():
    rows = [
        {"T": 10, "steps": 100, "seeds": 4, "times": [20.0, 90.0], "waiting": [0.5, 0.0]},
        {"T": 20, "steps": 500, "seeds": 4, "times": [90.0, 400.0], "waiting": [0.75, 0.5]},
    ]
    with painted(Drawing("x", "", lambda axes: shares(axes[0], rows, [100, 500]))) as figure:
        short, long = figure.axes[0].containers
        assert short.lines[0].get_ydata().tolist() == [1.0, 0.25]
        assert long.lines[0].get_ydata().tolist() == [0.5]
        looks = series(figure.axes[0])
    assert list(looks) == ["within 100 steps", "within 500 steps"]
    assert len(set(looks.values())) == 2


def test_a_quantity_that_is_the_same_everywhere_has_no_panel():
    sketch = sketch_of("beyond-masked", "cells")
    assert (
        "not drawn: derived bound on the gap 4; Theorem 5.1, derived, on the gap 4" in sketch.shows
    )
    with painted(sketch) as figure:
        names = [axis.get_ylabel() for axis in figure.axes]
    assert "hold-out accuracy" in names and "derived bound on the gap" not in names


def test_noise_is_not_magnified():
    rows = [
        {"x": x, "holdout": {"mean": 1 - x / 1e5, "interval": [1 - x / 1e4, 1.0]}}
        for x in (1, 2, 3)
    ]

    def paint(axes):
        panels(rows, ["holdout"], "x", (), "x", axes)

    with painted(Drawing("x", "", paint)) as figure:
        low, high = figure.axes[0].get_ylim()
    assert high - low > 0.99 * SPAN and high <= 1.02
    with painted(sketch_of("trauger2024-majority", "bounds")) as figure:
        low, high = figure.axes[1].get_ylim()
    assert high / low > 100


def test_a_negative_bound_has_a_triangle_at_the_lower_edge():
    def paint(axes):
        axes[0].set_yscale("log")
        style.signed_log(axes[0], [1, 2], [-5.0, 3.0], color="red", label="bound")

    with painted(Drawing("x", "", paint)) as figure:
        above, below = figure.axes[0].lines
    assert below.get_label() == "bound: negative" and below.get_xdata().tolist() == [1]
    assert np.isnan(above.get_ydata()[0]) and above.get_ydata()[1] == 3.0

"""Every figure of the committed results: each curve has a name and a look, and none is covered."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.collections import PolyCollection

from dudley.lab.experiments.edelman2021_and.figures import half_success
from dudley.lab.experiments.edelman2021_parity.figures import shares
from dudley.lab.experiments.li2026_excess.figures import smallest
from dudley.lab.experiments.mwigo2026_mnist.figures import theorem
from dudley.lab.figures import draw
from dudley.lab.figures.halfway_points import (
    HalfwayPoint,
    about_points,
    draw_points,
    halfway_points,
)
from dudley.lab.figures.sketch import SKETCHES, Sketch
from dudley.lab.pages.results import Results, committed
from dudley.lab.shared.beyond_figures import SPAN, panels
from dudley.show.figures import style
from dudley.show.figures.drawing import Drawing, painted
from each import each
from figure_looks import complaints, series

NAMES = [name for name in SKETCHES if committed(name)]


def largest(name: str) -> Results:
    return next(iter(committed(name).values()))


def sketch_of(name: str, figure: str) -> Sketch:
    return next(sketch for sketch in draw.figures(largest(name)) if sketch.name == figure)


@pytest.mark.slow  # it draws every figure twice
def test_committed_figures_can_be_read_and_bare_ones_have_no_prose():
    wrong, count = [], 0
    for name in NAMES:
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


@pytest.mark.slow
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


def finite_halves(name: str) -> dict[int, dict]:
    rows = largest(name).with_number("critical").numbers["half_success"]
    return {row["T"]: row for row in rows if row["m"] is not None}


@each("name, figure", [
    ("edelman2021-and-far", "growth"), ("edelman2021-and-far", "sizes"),
    ("edelman2021-and", "success"), ("edelman2021-and", "sizes"),
])  # fmt: skip
def test_every_finite_half_of_the_findings_is_drawn(name, figure):
    halves, drawn = finite_halves(name), {}
    with painted(sketch_of(name, figure)) as painting:
        axis = painting.axes[-1]
        for points in axis.containers:
            drawn |= dict(zip(*points.lines[0].get_data(), strict=True))
        arrows = [line for line in axis.lines if "not determined" in line.get_label()]
        open_ends = {T for line in arrows for T in line.get_xdata()}
    assert drawn == pytest.approx({T: row["m"] for T, row in halves.items()})
    assert open_ends == {T for T, row in halves.items() if None in row["interval"]}
    assert name != "edelman2021-and-far" or open_ends == {30_000}


def test_an_end_that_is_not_determined_is_an_arrow_and_the_caption_says_so():
    closed = HalfwayPoint(10, 50.0, (40.0, 60.0), False)
    above = HalfwayPoint(20, 80.0, (60.0, math.inf), False)
    below = HalfwayPoint(30, 90.0, (0.0, 99.0), True)
    for points, signs in (([closed], []), ([above], ["upper"]), ([below, closed], ["lower"])):
        with painted(Drawing("x", "", lambda a, p=points: draw_points(a[0], p, "m½", "red"))) as f:
            labels = [line.get_label() for line in f.axes[0].lines]
            ends = [label.split()[0] for label in labels if "not determined" in label]
        assert ends == signs
        assert ("arrows" in about_points(points)) is bool(signs)
        assert ("triangles" in about_points(points)) is any(point.beyond for point in points)


def test_captions_explain_triangles_only_where_some_are_drawn():
    for name, figure in (("edelman2021-and", "success"), ("edelman2021-and-far", "growth")):
        sketch = sketch_of(name, figure)
        with painted(sketch) as painting:
            markers = {c.lines[0].get_marker() for c in painting.axes[-1].containers}
        assert ("triangles" in sketch.shows) is ("^" in markers)


def test_the_laws_drawn_are_the_fits_that_are_tested():
    grown = {
        kind: {"power": {"θ": 0.5, "critical": [{"T": 10, "m": m}, {"T": 20, "m": m}]}}
        for kind, m in (("plain", 1.0), ("free", 3.0))
    }
    rows = [{"T": T, "information": 1.0} for T in (10, 20)]
    for numbers, heights in ((grown, [3.0]), ({"plain": grown["plain"]}, [1.0]), (None, [])):
        with painted(Drawing("x", "", lambda a, g=numbers: half_success(a[0], [], rows, g))) as f:
            lines = [line for line in f.axes[0].lines if line.get_label() == "power law"]
        assert [line.get_ydata()[0] for line in lines] == heights


def test_the_figure_of_the_laws_quotes_the_exponent_of_the_curve_that_it_draws():
    sketch = sketch_of("edelman2021-and-far", "growth")
    grown = largest("edelman2021-and-far").with_number("critical").numbers["growth"]
    free, plain = (grown[kind]["power"]["θ"] for kind in ("free", "plain"))
    assert f"α = {free:.2f}" in sketch.caption and f"exponent {plain:.2f}" not in sketch.caption


@each("name, figure", [("edelman2021-and", "success"), ("edelman2021-and-far", "success")])
def test_the_line_at_a_half_has_a_name(name, figure):
    with painted(sketch_of(name, figure)) as painting:
        assert "½ of the trials" in series(painting.axes[0])


PANELS_ALIKE = [
    ("mwigo2026-mnist", ("losses-printed", "losses-longer", "table-1", "distance")),
    ("edelman2021-parity", ("losses", "losses-scan")),
]


@pytest.mark.slow
@each("name, figures", PANELS_ALIKE)
def test_panels_of_one_quantity_share_their_heights_and_cut_nothing(name, figures):
    for figure in figures:
        with painted(sketch_of(name, figure)) as painting:
            painting.canvas.draw()
            shown = [axis for axis in painting.axes if axis.axison]
            (ends,) = {axis.get_ylim() for axis in shown}
            data = [axis.dataLim.intervaly for axis in shown]
        assert len(shown) > 1 and all(ends[0] <= low < high <= ends[1] for low, high in data)


def test_what_is_trivial_in_all_cells_is_counted_and_not_drawn():
    def paint(derived):
        cells = [
            {"tokens": "flat", "d_m": 1, "N": 1, "printed": [0.5], "derived": value, "best": 1.0,
             "measured_at_most": [0.1, 0.2], "best_terms": {"complexity": 9.0}}
            for value in derived
        ]  # fmt: skip
        with painted(Drawing("x", "", lambda axes: theorem(cells, axes))) as figure:
            return {line.get_label(): len(line.get_xdata()) for line in figure.axes[0].lines}

    everywhere = paint([1.0, 1.0])
    assert "trivial: derived in 2 of 2 cells, best covers in 2 of 2 cells" in everywhere
    assert "derived" not in everywhere and everywhere["printed"] == 2
    somewhere = paint([1.0, 0.7])
    assert "trivial: derived in 1 of 2 cells, best covers in 2 of 2 cells" in somewhere
    assert somewhere["derived"] == 1


def test_a_statement_that_ends_early_is_said_to():
    assert "Theorem 4.4 was not evaluated beyond n = 100,001 (noisy constants)." in (
        sketch_of("li2026-excess", "classes").shows
    )


def test_headings_of_the_trends_are_names_and_the_plateau_has_its_margin():
    finding = largest("trauger2024-majority").with_number("plateau").numbers["plateau"]
    with painted(sketch_of("trauger2024-majority", "trends")) as figure:
        headings = [axis.get_title("left") for axis in figure.axes]
        accuracy = figure.axes[2]
        (line,) = [each for each in accuracy.lines if "T ≥ 100" in each.get_label()]
        (band,) = [part for part in accuracy.collections if isinstance(part, PolyCollection)]
        low, high = band.get_paths()[0].get_extents().intervaly
        first, last = line.get_ydata()
        others = sum(isinstance(p, PolyCollection) for a in figure.axes[:2] for p in a.collections)
    assert headings == ["ℓ1 norm", "gap", "accuracy"] and others == 0
    assert last - first == pytest.approx(finding["change"]) and list(line.get_xdata()) == [100, 200]
    assert (low, high) == pytest.approx((first - finding["margin"], first + finding["margin"]))


def test_no_caption_names_a_class_of_the_code():
    for name in NAMES:
        for sketch in draw.figures(largest(name)):
            assert "PaperReading" not in sketch.caption


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
    record = committed("beyond-masked")["laptop"]
    sketch = next(sketch for sketch in draw.figures(record) if sketch.name == "cells")
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

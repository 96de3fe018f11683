"""A test of the tests: with a wrong constant planted, the check that should see it goes red."""

import dataclasses
import math

import numpy as np
import pytest

import checks
import direction_checks
import dudley as du
from dudley.classes import counting, directions, linear, ratio
from dudley.classes.best import BestOf
from dudley.classes.covers import (
    maurey,
    perceptron,
    rounding,
    sequence,
    sparse,
    spherical,
    volumetric,
)
from dudley.classes.covers.base import COVERS
from dudley.core import norms, rounding as rounding_rules
from dudley.core.norms import implications
from planting import changed, goes_red

CASE = {case.name: case for case in checks.CASES}


# -- covers ------------------


def with_entropy(plant, cover, change):
    plant(cover, "log_entropy", changed(cover.log_entropy, change))


def with_parts(plant, name, change):
    """Every integer part ⌈…⌉ or ⌈…²⌉ of a cover changed."""
    for kind in (ratio.ExactRatio, ratio.LogRatio):
        plant(kind, name, changed(getattr(kind, name), change))


def test_half_the_delannoy_count(plant):
    plant(maurey, "log_delannoy", changed(counting.log_delannoy, lambda value: value / 2))
    goes_red(checks.check_cover, "maurey", CASE["vector-l1"])
    goes_red(checks.check_cover, "maurey-rows", CASE["row1inf-l1-inputs"])
    goes_red(checks.check_delannoy, maurey.log_delannoy)


def test_too_few_vectors_rounded_entry_by_entry(plant):
    plant(rounding, "log_nearest", changed(counting.log_nearest, lambda value: value / 2))
    goes_red(checks.check_cover, "rounding-entries", CASE["vector-l1-one-hot"])


def test_supports_forgotten(plant):
    plant(sparse, "log_choose", lambda p, s: 0.0)
    goes_red(checks.check_cover, "sparse", CASE["sparse-one-hot"])


def test_entries_of_a_sparse_matrix_that_are_one_in_a_row(plant):
    plant(sparse, "per_entry", lambda problem, s: 1.0)
    goes_red(checks.check_cover, "sparse", CASE["sparse-rows-one-hot"])
    goes_red(checks.check_cover, "sparse", CASE["sparse-vector"])


def test_a_delannoy_count_a_little_short(plant):
    goes_red(checks.check_delannoy, changed(counting.log_delannoy, lambda v: v * (1 - 1e-9)))
    goes_red(checks.check_delannoy, changed(counting.log_delannoy, lambda v: v + 1e-6))


@pytest.mark.parametrize("kind", ["maurey", "maurey-rows", "perceptron", "perceptron-columns"])
def test_one_draw_or_step_too_few(plant, kind):
    with_parts(plant, "ceil_square", lambda K: np.maximum(K - 1, 1))
    name = {"maurey-rows": "row1inf-l1-inputs"}.get(kind, "vector-l2")
    goes_red(checks.check_cover, kind, CASE[name])


def test_rounding_with_one_step_too_few(plant):
    with_parts(plant, "ceil", lambda k: np.maximum(k - 1, 1))
    goes_red(checks.check_cover, "rounding-inward", CASE["vector-l1"])
    goes_red(checks.check_cover, "grid", CASE["vector-linf"])


def test_rounding_to_nearest_without_the_half_steps(plant):
    plant(rounding.math, "ceil", lambda x: 0)
    goes_red(checks.check_cover, "rounding-nearest", CASE["vector-l1"])


def test_volumetric_without_its_two(plant):
    one_plus = volumetric.log_one_plus
    plant(volumetric, "log_one_plus", lambda log_x: one_plus(log_x - math.log(2)))
    goes_red(checks.check_cover, "volumetric", CASE["number"])


def test_low_rank_without_one_factor(plant):
    with_entropy(plant, volumetric.RankCover, lambda log_H: log_H - 2.5)
    goes_red(checks.check_cover, "rank", CASE["rank-op-scores"], count=400)


def test_columns_without_their_share(plant):
    """The printed Lemma 4.5 of edelman2021 forgets the √b."""
    plant(
        perceptron.PerceptronColumns,
        "log_entropy",
        lambda self, r, n: changed_split(self).log_entropy(r, n),
    )
    goes_red(checks.check_cover, "perceptron-columns", CASE["col2inf-linear"])


def changed_split(cover):
    return Unsplit(cover.bound, cover.proper, cover.columns, cover.rows, 1.0)


@dataclasses.dataclass(frozen=True)
class Unsplit:
    bound: float
    proper: bool
    columns: int
    rows: float
    split: float

    def log_entropy(self, r, log_n):
        K = r.ceil_square(self.split) - 1
        points = perceptron.points(log_n, self.rows)
        with np.errstate(divide="ignore"):
            return np.log(self.columns * counting.log_delannoy(points, K))


@pytest.mark.parametrize("cover", [spherical.Spherical, spherical.SphericalUniform])
def test_a_fifth_too_few_words_by_directions(plant, cover):
    with_entropy(plant, cover, lambda log_H: log_H - math.log(1.2))
    goes_red(checks.check_cover, cover.name, CASE["fro-linear"])


@pytest.mark.parametrize("kind", ["spherical", "spherical-uniform"])
def test_a_fifth_too_few_steps_by_directions(plant, kind):
    with_parts(plant, "ceil_square", lambda K: np.maximum(np.ceil(K / 1.2), 1))
    goes_red(checks.check_cover, kind, CASE["fro-linear"])


@pytest.mark.parametrize(
    ("cover", "case"),
    [
        (sequence.Adaptive, "fro-linear-together"),
        (sequence.Adaptive, "fro-bilinear-together"),
        (sequence.Adaptive, "fro-logits-together"),
        (sequence.AdaptiveCol21, "col21-linear-together"),
    ],
)
def test_a_fifth_too_few_words_of_corrections(plant, cover, case):
    with_entropy(plant, cover, lambda log_H: log_H - math.log(1.2))
    goes_red(checks.check_cover, cover.name, CASE[case])


def test_a_fifth_too_few_directions(plant):
    def fewer(b):
        return tuple((t, math.log(math.floor(math.exp(v) / 1.2))) for t, v in directions.lines(b))

    goes_red(direction_checks.check_lines, lambda b: fewer(b) if b == 2 else directions.lines(b))
    goes_red(direction_checks.check_lines, lambda b: fewer(b) if b == 17 else directions.lines(b))
    goes_red(direction_checks.check_caps, changed(directions.log_cap, lambda v: v + math.log(1.2)))
    goes_red(direction_checks.check_caps, changed(directions.log_cap, lambda v: v - math.log(1.2)))


def test_column_norms_without_their_code(plant):
    plant(perceptron, "log_binomial", lambda b, q: 0.0)
    with_entropy(plant, perceptron.PerceptronCol21, lambda log_H: log_H - 1.0)
    goes_red(checks.check_cover, "perceptron-col21", CASE["col21-linear"])


@pytest.mark.parametrize(
    ("kind", "case"),
    [("rounding-nearest", "vector-l1"), ("maurey", "l11-and-op"), ("grid", "vector-l1-and-linf")],
)
def test_a_cover_that_leaves_the_class_called_proper(plant, kind, case):
    of = COVERS[kind].of

    def proper(problem):
        return [dataclasses.replace(cover, proper=True) for cover in of(problem)]

    plant(COVERS[kind], "of", proper)
    goes_red(checks.check_cover, kind, CASE[case])


def test_half_the_radius(plant):
    plant(BestOf, "log_radius", property(lambda self: math.log(self.radius * self.scale / 2)))
    goes_red(checks.check_entropy, CASE["vector-l2"].entropy())
    entropy = linear._entropy

    def halved(*args):
        whole = entropy(*args)
        return dataclasses.replace(whole, radius=whole.radius / 2)

    plant(linear, "_entropy", halved)
    goes_red(checks.check_volumes)


def test_an_entropy_that_increases():
    class Wavy(du.PowerLaw):
        def log_log(self, log_ε, log_n=None):
            return super().log_log(log_ε, log_n) + np.sin(3 * np.asarray(log_ε))

    goes_red(checks.check_entropy, Wavy(5.0))


def test_an_entropy_that_never_ends():
    class Endless(du.PowerLaw):
        def log_log(self, log_ε, log_n=None):
            return math.log(self.C) - 2 * np.asarray(log_ε, dtype=float)

    goes_red(checks.check_entropy, Endless(5.0))


def test_entropies_below_packings_and_volumes(plant):
    plant(BestOf, "__call__", changed(BestOf.__call__, lambda value: 0.3 * value))
    goes_red(checks.check_packings, CASE["vector-l2"])
    goes_red(checks.check_volumes)


def test_a_cover_below_a_packing(plant):
    with_entropy(plant, perceptron.Perceptron, lambda log_H: log_H - 3.0)
    goes_red(checks.check_covers_alone, CASE["vector-l2"])


def test_a_class_that_forgets_its_units(plant):
    """Volumetric covers with the bound squared: right at one radius only."""
    of = volumetric.Volumetric.of
    plant(
        volumetric.Volumetric,
        "of",
        lambda problem: [dataclasses.replace(c, bound=c.bound**2) for c in of(problem)],
    )
    goes_red(checks.check_scaling, CASE["op-linear"])


def test_points_that_are_not_counted(plant):
    plant(perceptron, "points", lambda log_n, rows: 4.0)
    goes_red(checks.check_points, CASE["vector-l2"].entropy())


# -- rounding and norms ------------------


def test_integer_parts_without_rational_arithmetic():
    def plain(factors, ε, power, times=1.0):
        return float(math.ceil(times * (math.prod(factors) / ε) ** power))

    goes_red(checks.check_integer_parts, plain)


def test_integer_parts_rounded_down():
    exact = rounding_rules.ceil_power_ratio
    goes_red(checks.check_integer_parts, changed(exact, lambda k: k - 1))


def test_logs_without_outward_rounding():
    class Plain(ratio.LogRatio):
        def ceil(self, times=1.0):
            return np.ceil(times * np.exp(self.log))

        def ceil_square(self, times=1.0):
            return np.ceil(times * np.exp(2 * self.log))

    goes_red(checks.check_log_ratio, Plain)


@pytest.mark.parametrize("weaker", ["l11", "nuc", "row21", "col1inf"])
def test_a_wrong_inequality_between_norms(plant, weaker):
    edges = implications.edges

    def wrong(a, b, rank):
        return [*edges(a, b, rank), (weaker, "op", 1.0)]

    plant(implications, "edges", wrong)
    W = np.ones((3, 3)) - 2 * np.eye(3)
    goes_red(checks.check_norms, W, norms.implied)


def test_row_and_column_norms_confused():
    W = np.array([[3.0, 0.0], [4.0, 0.0]])

    def confused(bounds, shape, rank):
        swap = {"col21": "row21", "row21": "col21"}
        return norms.implied(tuple((swap.get(k, k), v) for k, v in bounds), shape, rank)

    goes_red(checks.check_norms, W, confused)

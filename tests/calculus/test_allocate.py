"""Allocation: closed forms, grouping, extremes, and what cannot be covered."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import calculus_checks as checks
import dudley as du
from dudley.calculus import allocate, solve
from dudley.calculus.allocate import Allocated, WeightBlock, log_sum, solve_ahead
from dudley.calculus.memory import forget
from dudley.calculus.splits import best_shares
from dudley.core.entropy import PowerLaw
from dudley.core.magnitude import Magnitude

positive = st.floats(1e-3, 1e3)


def block(entropy, weight=1.0, copies=1):
    weight = weight if isinstance(weight, Magnitude) else Magnitude.of(weight)
    return WeightBlock("", entropy, weight, copies)


ENTROPY = du.LinearMap((3, 2), du.L11(1.5)).entropy()
OTHER = du.LinearMap((4, 1), du.L2(2.0)).entropy()


def search(cost, βs, ε, rng, draws=20000):
    """The least cost over many feasible splits: never below the optimum."""
    shares = rng.dirichlet(np.full(len(βs), 0.7), size=draws)
    return cost(ε * shares / np.asarray(βs)).min()


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=4), positive)
def test_power_law_against_search(blocks, ε):
    Cs, βs = map(list, zip(*blocks, strict=True))
    value, parts = allocate.power_law(Cs, βs, ε)
    rng = np.random.default_rng(0)
    best = search(lambda e: (np.array(Cs) / np.maximum(e, 1e-300) ** 2).sum(axis=1), βs, ε, rng)
    assert value <= best * (1 + 1e-9)
    assert math.isclose(float(np.dot(βs, parts)), ε, rel_tol=1e-9)
    assert math.isclose(float((np.array(Cs) / parts**2).sum()), value, rel_tol=1e-9)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=4), positive)
def test_logarithmic_against_search(blocks, ε):
    ps, βs = map(list, zip(*blocks, strict=True))
    value, parts = allocate.logarithmic(ps, βs, ε)
    rng = np.random.default_rng(0)
    best = search(lambda e: -(np.array(ps) * np.log(np.maximum(e, 1e-300))).sum(axis=1), βs, ε, rng)
    assert value <= best + 1e-9 * sum(ps)
    assert math.isclose(float(np.dot(βs, parts)), ε, rel_tol=1e-9)
    assert math.isclose(
        float(-(np.array(ps) * np.log(parts)).sum()), value, rel_tol=1e-9, abs_tol=1e-9
    )


def test_blocks_that_cost_nothing():
    assert allocate.power_law([0.0, 1.0], [1.0, 1.0], 0.5)[0] == pytest.approx(4.0)
    assert allocate.power_law([1.0, 1.0], [0.0, 1.0], 0.5)[0] == pytest.approx(4.0)
    value, parts = allocate.power_law([0.0, 0.0], [1.0, 1.0], 0.5)
    assert value == 0.0
    assert not np.isnan(parts).any()
    assert allocate.logarithmic([0.0, 1.0], [1.0, 1.0], 0.5)[0] == pytest.approx(math.log(2))


@pytest.mark.parametrize("below", [0.05, 0.7, 4.0, 30.0])
@pytest.mark.parametrize("log_n", [None, math.log(4096)])
def test_groups_equal_blocks_written_out(below, log_n):
    written = Allocated((*[block(ENTROPY, 2.0) for _ in range(5)], block(OTHER, 0.5)))
    copies = Allocated((block(ENTROPY, 2.0, copies=5), block(OTHER, 0.5)))
    arrays = Allocated((block(ENTROPY, np.full(5, 2.0)), block(OTHER, 0.5)))
    log_ε = written.log_radius - below
    values = [float(a.log_log(log_ε, log_n)) for a in (written, copies, arrays)]
    assert values[1] == pytest.approx(values[0], rel=1e-9)
    assert values[2] == pytest.approx(values[0], rel=1e-9)
    assert copies.log_radius == pytest.approx(written.log_radius, rel=1e-12)
    different = Allocated((block(ENTROPY, np.array([1.0, 2.0, 4.0])),))
    apart = Allocated(tuple(block(ENTROPY, w) for w in (1.0, 2.0, 4.0)))
    log_ε = apart.log_radius - below
    assert float(different.log_log(log_ε)) == pytest.approx(float(apart.log_log(log_ε)), rel=1e-9)


@pytest.mark.parametrize("log10", [-1200, -300, 0, 300, 1200])
def test_extreme_weights(log10):
    weight = Magnitude(log10 * math.log(10) + np.linspace(0, 5, 4))
    allocated = Allocated((block(ENTROPY, weight), block(OTHER, 1.0, copies=3)))
    log_ε = allocated.log_radius - np.array([0.1, 1.0, 10.0, 100.0, 3000.0, 9000.0])
    for log_n in (None, math.log(1e12)):
        logs = allocated.log_log(log_ε, log_n)
        assert np.isfinite(logs).all()
        assert (np.diff(logs) >= 0).all()
        checks.check_feasible(allocated, float(log_ε[2]), allocated.rounded(log_n))


def test_weights_that_differ_by_a_thousand_orders():
    logs = np.log(10) * np.array([-1200.0, 0.0, 1200.0])
    allocated = Allocated((block(ENTROPY, Magnitude(logs)),))
    alone = Allocated((block(ENTROPY, Magnitude(logs[2])),))
    log_ε = float(logs[2]) - 1.0  # only the heaviest block matters
    assert float(allocated.log_log(log_ε)) == pytest.approx(float(alone.log_log(log_ε)), rel=1e-9)
    checks.check_feasible(allocated, log_ε)


def test_nothing_to_cover():
    zero = du.LinearMap((3, 2), du.L11(0.0)).entropy()
    for allocated in (
        Allocated((block(zero),)),
        Allocated((block(ENTROPY, 0.0),)),
        Allocated((block(zero, 0.0), block(ENTROPY, np.zeros(3)))),
    ):
        assert allocated.log_radius == -math.inf
        assert allocated(0.1) == 0.0
    mixed = Allocated((block(zero), block(ENTROPY, 1.0), block(OTHER, 0.0)))
    assert mixed(0.4) == pytest.approx(Allocated((block(ENTROPY, 1.0),))(0.4), rel=1e-9)


def test_an_unknown_sensitivity_is_infinite_not_a_number():
    allocated = Allocated((block(ENTROPY, math.inf), block(OTHER)))
    assert allocated(0.5) == math.inf
    assert allocated.log_radius == math.inf


def test_more_budget_never_costs_more():
    rng = np.random.default_rng(0)
    allocated = Allocated(
        tuple(
            block(du.LinearMap(shape, make(1.0)).entropy(), w)
            for shape, make, w in (
                ((3, 2), du.L11, 1.0),
                ((5, 5), du.Spectral, 0.7),
                ((4, 1), du.L2, 9.0),
            )
        )
    )
    log_ε = np.sort(allocated.log_radius - rng.uniform(0, 10, 4000))
    logs = allocated.log_log(log_ε)
    assert (np.diff(logs) <= 0).all()
    one_by_one = np.array([float(allocated.log_log(e)) for e in log_ε[::100]])
    assert (np.diff(one_by_one) <= 0).all()


SHAPES = (
    du.LinearMap((3, 2), du.L11(1.5)),
    du.LinearMap((4, 1), du.L2(2.0)),
    du.LinearMap((64, 64), du.L11(1.0)),
    du.LinearMap((8, 8), du.Spectral(1.0)),
    du.LinearMap((32, 16), du.Frobenius(1.0)),
)


def best_of_all_splits(blocks, ε, parts=200):
    """The least Σ H over all ways to give each block some of that many equal parts of ε."""
    total = None
    for part in blocks:
        shares = np.maximum(np.arange(parts + 1) / parts * ε, 1e-300) / float(part.weight)
        H = np.exp(part.entropy.log_log(np.log(shares)))
        if total is None:
            total = H
        else:
            total = np.array([(total[: k + 1] + H[k::-1]).min() for k in range(parts + 1)])
    return total[-1]


def random_blocks(rng):
    chosen = rng.choice(len(SHAPES), size=rng.integers(2, 4))
    return tuple(block(SHAPES[i].entropy(), math.exp(rng.normal())) for i in chosen)


def test_what_is_left_over_is_spent():
    """Within a few percent of an exhaustive search, at coarse resolutions too."""
    rng = np.random.default_rng(0)
    for _ in range(25):
        blocks = random_blocks(rng)
        allocated = Allocated(blocks)
        for share in (0.99, 0.9, 0.6, 0.3, 0.1, 0.03):
            ε = share * math.exp(allocated.log_radius)
            value = allocated(ε)
            assert value <= 1.05 * best_of_all_splits(blocks, ε), (blocks, share)
            checks.check_feasible(allocated, math.log(ε))


def test_more_budget_never_costs_more_where_splits_are_coarse():
    rng = np.random.default_rng(1)
    many = Allocated((block(ENTROPY, 2.0, copies=9), block(OTHER, 0.5)))
    for allocated in (many, *(Allocated(random_blocks(rng)) for _ in range(10))):
        log_ε = np.sort(allocated.log_radius - rng.uniform(0, 5, 400))
        assert (np.diff(allocated.log_log(log_ε)) <= 0).all()


@pytest.mark.parametrize("what", ["norm", "weight", "points"])
def test_larger_blocks_cost_no_less_but_for_one_percent(what):
    """Coarse splits are monotone; the steps of the tables leave other ones short by that."""
    rng = np.random.default_rng(2)
    for _ in range(4):
        norms, weights = np.exp(rng.normal(0, 0.7, (2, 3)))
        tops = np.full(6, -math.inf)
        for t in np.linspace(1, 1.5, 40):
            B, w, rows = (t if what == name else 1.0 for name in ("norm", "weight", "points"))
            entropies = (
                du.LinearMap((64, 64), du.L11(norms[0] * B)).entropy(),
                du.LinearMap((16, 8), du.Col2Inf(norms[1])).entropy(rows=100 * rows),
                du.LinearMap((9, 1), du.L2(norms[2])).entropy(),
            )
            scaled = weights * np.array([1.0, w, 1.0])
            allocated = Allocated(tuple(map(block, entropies, map(float, scaled))))
            log_ε = math.log((norms * weights).sum()) - np.array([0.05, 0.3, 1, 2, 4, 8])
            logs = allocated.log_log(log_ε, math.log(1e4))
            assert (logs >= tops - 0.01).all()
            tops = np.maximum(tops, logs)


def test_splits_of_few_blocks_are_monotone_in_every_cost():
    """The candidates do not depend on the costs: raising any of them lowers no minimum."""
    rng = np.random.default_rng(3)
    costs = np.sort(rng.exponential(size=(4, 50, 13)), axis=2)[:, :, ::-1]
    costs[:, :, 0] = math.inf

    def least(costs):
        parts = best_shares(costs)
        assert (parts.sum(axis=0) == 12).all()
        return np.take_along_axis(costs, parts[:, :, None], axis=2)[:, :, 0].sum(axis=0)

    before = least(costs)
    for _ in range(20):
        raised = costs + (rng.random(costs.shape) < 0.1) * rng.exponential(size=costs.shape)
        assert (least(raised) >= before - 1e-12).all()
    every = (split for split in itertools.product(range(13), repeat=4) if sum(split) == 12)
    by_hand = min(sum(costs[b, 0, k] for b, k in enumerate(split)) for split in every)
    assert before[0] == pytest.approx(by_hand)


def test_splits_below_a_limit_are_found_and_others_add_up():
    """Where the limit is the least cost or more, the split is the least one; else any one."""
    rng = np.random.default_rng(4)
    for blocks in (1, 2, 3, 5):
        with np.errstate(divide="ignore"):
            costs = np.exp(rng.normal(size=(blocks, 200, 1))) / (np.arange(41) / 40) ** 2
        costs = np.where(rng.random((blocks, 200, 1)) < 0.2, np.round(costs), costs)
        right = best_shares(costs)
        least = total_cost(costs, right)
        for limit in (least, 1.01 * least, 3 * least + 1):
            assert (best_shares(costs, limit) == right).all()
        below = best_shares(costs, 0.999 * least)
        assert (below.sum(axis=0) == 40).all() and (total_cost(costs, below) >= least).all()


def total_cost(costs, parts):
    return np.take_along_axis(costs, parts[:, :, None], axis=2)[:, :, 0].sum(axis=0)


def test_problems_side_by_side_have_the_answers_that_each_has_alone():
    """Of several shapes, with hulls in common and of their own, at one scale and at many."""
    rng = np.random.default_rng(5)
    several = [Allocated(random_blocks(rng)) for _ in range(12)]
    several += [Allocated((block(ENTROPY, w, copies=5), block(OTHER))) for w in (0.1, 1.0, 7.0)]
    several += [Allocated((block(ENTROPY, Magnitude(np.linspace(0, w, 80))),)) for w in (1.0, 9.0)]
    several.append(Allocated((block(ENTROPY, math.inf), block(OTHER))))
    questions = [
        (one, rng.uniform(-6, 1, 1 + 20 * (i % 3)), log_n)
        for i, one in enumerate(several)
        for log_n in (None, math.log(1e4))
    ]
    forget()
    alone = [Allocated(one.blocks).log_log(log_ε, log_n) for one, log_ε, log_n in questions]
    forget()
    solve_ahead(questions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(allocate, "solve", None)  # nothing is left to be solved
        together = [one.log_log(log_ε, log_n) for one, log_ε, log_n in questions]
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


def test_ninety_six_layers_share_one_table():
    weights = Magnitude(np.linspace(0, 96 * math.log(50), 96))
    allocated = Allocated((block(ENTROPY, weights), block(OTHER, weights)))
    log_ε = allocated.log_radius - np.array([1.0, 50.0, 500.0])
    assert np.isfinite(allocated.log_log(log_ε)).all()
    checks.check_feasible(allocated, float(log_ε[1]))


@given(st.integers(1, 2**52))
def test_the_number_of_examples_is_rounded_up(n):
    allocated = Allocated((block(OTHER),))
    used = round(math.exp(allocated.rounded(math.log(n))))
    assert used >= n * (1 - 1e-13)
    assert used <= 2 * n * (1 + 1e-13)


@pytest.mark.parametrize("k", [20, 31, 35, 40])
def test_one_example_past_a_power_of_two(k):
    allocated = Allocated((block(OTHER),))
    assert allocated.rounded(math.log(2**k)) == pytest.approx(k * math.log(2), rel=1e-12)
    assert allocated.rounded(math.log(2**k + 1)) == pytest.approx((k + 1) * math.log(2), rel=1e-12)


def test_proper_allocations_use_proper_covers():
    improper = PowerLaw(1.0, is_proper=False)
    both = Allocated((block(improper), block(PowerLaw(2.0))))
    assert both.proper()(0.1) >= both(0.1)
    expected, _ = allocate.power_law([4.0, 2.0], [1.0, 1.0], 0.1)
    assert expected <= both.proper()(0.1) <= 1.01 * expected


def test_answers_do_not_depend_on_what_was_asked_before():
    allocated = Allocated((block(ENTROPY), block(OTHER)))
    first = allocated.log_log(np.array([-1.0, -2.0]))
    copy_of_first = first.copy()
    try:
        first += 1.0
    except ValueError:
        return  # a read-only answer cannot be spoilt
    assert (allocated.log_log(np.array([-1.0, -2.0])) == copy_of_first).all()


def test_log_sum():
    assert log_sum(np.array([-math.inf, -math.inf])) == -math.inf
    assert log_sum(np.array([math.inf, 0.0])) == math.inf
    assert float(log_sum(np.array([1e5, 1e5]))) == pytest.approx(1e5 + math.log(2))
    assert log_sum(np.array([[0.0, -math.inf], [0.0, 3.0]])) == pytest.approx([math.log(2), 3.0])


def test_what_is_solved_at_once_is_small(monkeypatch):
    """Portions of many problems are bounded in columns, and in rows times columns."""
    sizes = []
    right = solve._solve

    def counting(problems):
        rows = sum(len(one.log_counts) for one in problems[0].rows)
        sizes.append((rows, sum(len(one.log_ε) for one in problems)))
        return right(problems)

    monkeypatch.setattr(solve, "_solve", counting)
    forget()
    wide = [Allocated((block(ENTROPY, np.linspace(1, w, 200)),)) for w in range(2, 60)]
    slim = [Allocated((block(ENTROPY, float(w)),)) for w in range(2, 200)]
    solve_ahead([(one, np.linspace(-9, 0, 97), None) for one in wide + slim])
    assert sum(columns for _, columns in sizes) == 97 * len(wide + slim)
    assert all(columns <= solve._COLUMNS for _, columns in sizes)
    assert all(rows * columns <= solve._NUMBERS for rows, columns in sizes)
    assert len(sizes) <= 9

"""The sequential design: its theorem by enumeration, its intervals on simulated grids."""

from __future__ import annotations

import itertools
import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import quad
from scipy.optimize import isotonic_regression

from dudley.core.errors import InputError
from dudley.lab.statistics import crossing as crossing_module
from dudley.lab.statistics.completion import complete, isotonic
from dudley.lab.statistics.crossing import crossing, evidence
from dudley.lab.statistics.halfway import halfway
from dudley.lab.statistics.proportions import clopper_pearson
from dudley.lab.statistics.sequential import Design, filled, follow, replay
from each import each
from success_curves import SHAPES, SIZES, crossings, simulated

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))
design_agreement = import_module("design_agreement")
agreement, full_cells = design_agreement.agreement, design_agreement.full_cells

RESULTS = Path(__file__).resolve().parents[3] / "results"
GRIDS = 100  # of 11 columns each


def test_evidence_is_the_integral_it_says():
    k, n, M = np.array([1, 0, 5, 6]), np.array([4, 7, 9, 6]), 4
    for j in range(M + 1):
        total = 0.0
        for other in set(range(M + 1)) - {j}:
            cells = slice(min(j, other), max(j, other))
            K, N = k[cells].sum(), n[cells].sum()
            K = K if other > j else N - K
            total += quad(lambda q, K=K, N=N: 2 * (2 * q) ** K * (2 - 2 * q) ** (N - K), 0, 0.5)[0]
        assert np.exp(evidence(k, n)[j]) == pytest.approx(total / M, rel=1e-9)


def test_looked_up_or_not_the_evidence_is_the_same(monkeypatch):
    k, n = np.array([[3, 60, 90], [0, 9, 9]]), np.array([[90, 140, 100], [9, 9, 9]])
    looked_up = evidence(k, n)
    monkeypatch.setattr(crossing_module, "TABLE", 0)
    assert evidence(k, n) == pytest.approx(looked_up, abs=1e-9)
    many = 10 * n
    assert np.isfinite(evidence(10 * k, many)).all() and crossing(10 * k[0], many[0]) == (2, 2)


def greedy(k: np.ndarray, n: np.ndarray) -> int:
    """A choice that looks at every outcome: the undecided cell with the highest rate so far."""
    lowest, highest = crossing(k, n, 0.4)
    cells = range(lowest, highest) if highest > lowest else range(len(k))
    return max(cells, key=lambda i: ((k[i] + 1) / (n[i] + 1), i))


def enumerated(p: tuple[float, ...], j: int, trials: int) -> tuple[float, float]:
    """Over all outcomes of trials chosen so: the mean of E_j, and P(E_j ≥ 2.5 at some time)."""

    def walk(k: np.ndarray, n: np.ndarray, left: int, ever: bool) -> tuple[float, float]:
        strength = np.exp(evidence(k, n)[j])
        ever = ever or strength >= 2.5
        if left == 0:
            return strength, float(ever)
        i = greedy(k, n)
        trial = np.eye(len(p), dtype=int)[i]
        lost, won = (walk(k + hit * trial, n + trial, left - 1, ever) for hit in (0, 1))
        return tuple((1 - p[i]) * a + p[i] * b for a, b in zip(lost, won, strict=True))

    none = np.zeros(len(p), dtype=int)
    return walk(none, none, trials, False)


@pytest.mark.parametrize(
    "p", [(0.5, 0.5, 0.51), (0.2, 0.5, 0.55), (0.51, 0.6, 0.9), (0.1, 0.3, 0.5), (0.5, 0.2, 0.7)]
)
def test_the_theorem_by_enumeration(p: tuple[float, ...]):
    """The curve may even fall, if it passes ½ once."""
    mean, missed = enumerated(p, int(crossings(np.array(p))), 8)
    assert mean <= 1 + 1e-12 and missed <= 1 / 2.5


def test_without_one_crossing_or_for_another_cell_the_theorem_says_nothing():
    assert enumerated((0.1, 0.1, 0.9), 0, 8)[0] > 1.5
    assert enumerated((0.9, 0.9, 0.1), 3, 8)[0] > 1.5


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_at_most_two_fifths_of_the_trials_spent(shape: str):
    p, outcomes = simulated(shape, GRIDS, seed=3)
    columns = outcomes.reshape(-1, *outcomes.shape[2:])
    estimate, truth, full = replay(SIZES, columns), crossings(p).ravel(), full_cells(columns)
    assert estimate.n.sum(-1).max() <= 0.4 * 800 and len(estimate.rounds) <= 6
    assert np.array_equal(
        full_cells(columns), complete(columns.sum(-1), 50 + 0 * estimate.n, 50)[0]
    )
    for (lowest, highest), cell in ((estimate.interval, truth), (estimate.full_interval, full)):
        size = estimate.size(cell)
        covered = int(((lowest <= size) & (size <= highest)).sum())
        assert clopper_pearson(covered, len(columns))[1] >= 0.95, (covered, len(columns))
    # The estimate is the full grid's, with hardly more scatter than that has of its own.
    steps = estimate.cell - full
    assert abs(steps.mean()) < 0.3 and steps.std() < 0.25 + 1.2 * (full - truth).std()


def test_intervals_that_are_too_short_are_seen():
    p, outcomes = simulated("flat", GRIDS, seed=3)
    columns = outcomes.reshape(-1, *outcomes.shape[2:])
    estimate, low = replay(SIZES, columns), replay(SIZES, columns, Design(level=0.3))
    middle = np.add(*crossing(estimate.k, estimate.n)) // 2
    covered = np.array([np.abs(middle - crossings(p).ravel()) <= 1,
                     (low.full_interval[0] <= low.size(full_cells(columns)))
                     & (low.size(full_cells(columns)) <= low.full_interval[1])])  # fmt: skip
    assert all(clopper_pearson(int(k), len(columns))[1] < 0.95 for k in covered.sum(-1))


def test_rounds_are_whole_and_trials_are_taken_in_order():
    _, outcomes = simulated("logistic", 4, seed=0)
    columns = outcomes.reshape(-1, *outcomes.shape[2:])
    requests = []

    def ask(first, last):
        assert np.all(first <= last) and np.all(last <= 50)
        requests.append((first, last))
        cells = np.arange(50)
        among = (first[..., None] <= cells) & (cells < last[..., None])
        return (columns & among).sum(-1)

    estimate = follow(SIZES, len(columns), 50, ask)
    assert len(requests) == len(estimate.rounds) <= 6
    assert np.all(requests[0][1] == 4)
    assert all(np.array_equal(a[1], b[0]) for a, b in itertools.pairwise(requests))
    again = replay(SIZES, columns)
    assert np.array_equal(estimate.n, again.n) and np.array_equal(estimate.k, again.k)
    counted = [[column[i, :n].sum() for i, n in enumerate(row)]
               for column, row in zip(columns, estimate.n, strict=True)]  # fmt: skip
    assert np.array_equal(estimate.k, counted)
    # Trials sit where the curve crosses: most within two cells of the full grid's critical one.
    near = np.abs(np.arange(16) - full_cells(columns)[:, None]) <= 2
    assert estimate.n[near].mean() > 3 * estimate.n[~near].mean()


def test_a_column_ends_when_its_interval_is_short_or_its_budget_spent():
    _, outcomes = simulated("step", 20, seed=1)
    columns = outcomes.reshape(-1, *outcomes.shape[2:])
    short, shorter = (replay(SIZES, columns, Design(tolerance=t)) for t in (0.5, 0.0))
    assert short.n.sum() < 0.8 * shorter.n.sum()
    done = shorter.interval[0] == shorter.interval[1]
    assert done.mean() > 0.5 and np.all(shorter.n[~done].sum(-1) <= 320)
    few = replay(SIZES, columns, Design(share=0.02))
    assert np.all(few.n == 1) and len(few.rounds) == 1
    with pytest.raises(InputError, match="budget of a column"):
        replay(SIZES, columns, Design(share=0.01))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=6),
    st.integers(0, 40),
)
def test_trials_go_where_there_are_fewest(cells, quota: int):
    n, where = (np.array([column]) for column in zip(*cells, strict=True))
    new = filled(n, where, 12, np.array([quota]))
    room = int(np.where(where, 12 - n, 0).sum())
    assert (new - n).sum() == min(quota, room) and np.all(new >= n)
    assert np.array_equal(new[~where], n[~where]) and new.max() <= 12
    grown = new > n
    if grown.any():
        assert new[grown].max() - new[where].min() <= 1


@given(st.lists(st.integers(1, 20), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_isotonic_regression_is_scipys(n: list[int], random):
    k = [random.randint(0, one) for one in n]
    rates = np.array(k) / np.array(n)
    assert isotonic(k, n) == pytest.approx(isotonic_regression(rates, weights=n).x, abs=1e-12)


REFUSED = {
    "share": lambda: Design(share=0.0),
    "level": lambda: Design(level=1.0),
    "rounds": lambda: Design(rounds=0),
    "more successes than trials": lambda: crossing([3], [2]),
    "half a trial": lambda: crossing([0.5], [2]),
    "level of a crossing": lambda: crossing([1], [2], 0.0),
    "m that falls": lambda: replay([60, 50], np.zeros((1, 2, 9))),
    "a cell without trials": lambda: isotonic([0, 1], [0, 2]),
    "more trials than the grid has": lambda: complete([3], [9], 8),
    "outcomes of one column": lambda: agreement([50], np.zeros((1, 9)), 10, 0),
}


@each("case", REFUSED)
def test_it_is_refused(case: str):
    with pytest.raises(InputError):
        REFUSED[case]()


def test_a_logistic_curve_is_found_again_from_the_trials_of_a_design():
    _, outcomes = simulated("logistic", 60, seed=5, lengths=np.array([200]))
    factor = np.random.default_rng(5).uniform(-0.15, 0.15, 60)  # as `simulated` draws it
    half = np.log(75) + 0.45 * np.log(2) + factor
    estimate = replay(SIZES, outcomes[:, 0])
    curves = [halfway(SIZES, k, n) for k, n in zip(estimate.k, estimate.n, strict=True)]
    z = np.array([(np.log(c.m) - h) / c.error for c, h in zip(curves, half, strict=True)])
    assert (np.abs(z) < 2).sum() >= 50 and np.abs(z).max() < 4 and abs(z.mean()) < 0.5
    assert np.isnan(halfway(SIZES, np.zeros(16), np.ones(16)).m)
    assert np.isnan(halfway([50, 60], [9, 1], [10, 10]).m)


def test_a_difference_of_one_step_is_seen(monkeypatch):
    _, outcomes = simulated("logistic", 1, seed=2)
    same = agreement(SIZES, outcomes[0], 60, seed=0)
    assert same.mean.lowest <= 0 <= same.mean.highest
    assert all(one.lowest <= 0 <= one.highest for one in same.columns)
    monkeypatch.setattr(design_agreement, "full_cells", lambda known: full_cells(known) + 1)
    apart = agreement(SIZES, outcomes[0], 60, seed=0)
    assert apart.mean.highest < 0 and apart.steps.tolist() == (same.steps - 1).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["logistic", "flat", "weibull"])
def test_the_paired_interval_holds_on_simulated_grids(shape: str):
    _, outcomes = simulated(shape, 100, seed=11)
    agreements = [agreement(SIZES, one, 60, seed) for seed, one in enumerate(outcomes)]
    covered = sum(one.mean.lowest <= 0 <= one.mean.highest for one in agreements)
    assert clopper_pearson(covered, 100)[1] >= 0.95
    pairs = [
        own.lowest <= at <= own.highest
        for one in agreements
        for own, at in zip(one.columns, one.steps, strict=True)
    ]
    assert clopper_pearson(sum(pairs), len(pairs))[1] >= 0.95


def test_the_record_holds_what_is_asked_of_it():
    record = json.loads((RESULTS / "sequential/replay.json").read_text(encoding="utf-8"))
    assert record["full_grid"] == 8800 and record["share"] <= 0.4 and len(record["rounds"]) <= 6
    assert (
        sum(row["trials"] for row in record["lengths"]) == record["trials"] == sum(record["rounds"])
    )
    full = json.loads((RESULTS / "edelman2021-and/paper/findings.json").read_text(encoding="utf-8"))
    known = {row["T"]: row["critical"] for row in full[0]["numbers"]["critical"]}
    assert {row["T"]: row["critical"]["full"] for row in record["lengths"]} == known
    for part in (record["mean_difference_in_steps"], *(row["difference_in_steps"]
                                                     for row in record["lengths"])):  # fmt: skip
        assert part["interval"][0] <= 0 <= part["interval"][1]
    shapes = json.loads((RESULTS / "sequential/coverage.json").read_text(encoding="utf-8"))
    assert set(shapes["shapes"]) == set(SHAPES)
    for coverage in shapes["shapes"].values():
        assert coverage["share_of_trials"]["largest"] <= 0.4
        for name in ("curve_in_interval", "full_grid_in_full_interval"):
            assert coverage[name]["share"] >= 0.95 and coverage[name]["of"] >= 100
        paired = coverage["paired"]["0_in_interval_of_the_mean"]
        assert paired["of"] >= 100 and paired["interval"][1] >= 0.95
        # 0 inside says little of a wide interval: how wide, how often equal, how far off.
        assert coverage["paired"]["mean_width_of_the_mean"] <= 2.5
        assert coverage["difference_in_steps"]["equal"] >= 0.45
        assert abs(coverage["difference_in_steps"]["mean"]) <= 0.2

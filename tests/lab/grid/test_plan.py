"""The planner: every trial once, within the limits, as few batches as can be, evenly."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from dudley.core.errors import InputError
from dudley.lab import Batch, Cost, Trial, plan
from dudley.lab.grid.batch import together

LIMIT = 100
TRIALS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, LIMIT), st.integers(1, 20)), min_size=1, max_size=14
)


def made(sizes: list[tuple[int, int, int]]) -> list[Trial]:
    return [
        Trial({"group": g, "bytes": b, "work": w, "trial": i}, key=i)
        for i, (g, b, w) in enumerate(sizes)
    ]


def group(trial: Trial) -> int:
    return trial.config["group"]


def cost(trial: Trial) -> Cost:
    return Cost(trial.config["bytes"], float(trial.config["work"]))


@given(TRIALS, st.none() | st.integers(1, 5), st.integers(1, 3), st.sampled_from([1.0, 2.0, 99.0]))
def test_every_trial_once_and_within_the_limits(sizes, largest, workers, spread):
    trials = made(sizes)
    batches = plan(trials, group, cost, LIMIT, largest, workers, spread)
    assert sorted(t.key for b in batches for t in b.trials) == list(range(len(trials)))
    for number, batch in enumerate(batches):
        costs = [cost(trial) for trial in batch.trials]
        assert batch.number == number
        assert batch.cost == together(costs) and batch.cost.bytes <= LIMIT
        assert len({group(trial) for trial in batch.trials}) == 1
        assert len(batch) <= (largest or len(trials))
        assert max(c.work for c in costs) <= spread * min(c.work for c in costs)
        assert [c.bytes for c in costs] == sorted((c.bytes for c in costs), reverse=True)
        if workers > 1 and len(batch) > 1:
            assert batch.cost.work <= sum(w for *_, w in sizes) / workers
    heavy = [batch.cost.work for batch in batches]
    assert heavy == sorted(heavy, reverse=True)
    again = plan(made(sizes), group, cost, LIMIT, largest, workers, spread)
    assert [b.hash for b in batches] == [b.hash for b in again] and batches == again


@given(
    st.lists(
        st.tuples(st.just(0), st.integers(20, LIMIT), st.integers(1, 9)), min_size=1, max_size=8
    )
)
def test_no_other_cut_of_the_sorted_list_is_shorter_or_as_short_and_lighter(sizes):
    trials = made(sizes)
    batches = plan(trials, group, cost, LIMIT)
    costs = sorted(map(cost, trials), key=lambda c: (-c.bytes, -c.work))
    ways = []
    for count in range(len(costs)):
        for inner in itertools.combinations(range(1, len(costs)), count):
            edges = [0, *inner, len(costs)]
            parts = [together(costs[a:b]) for a, b in itertools.pairwise(edges)]
            if all(part.bytes <= LIMIT for part in parts):
                ways.append((len(parts), max(part.work for part in parts)))
    assert (len(batches), batches[0].cost.work) == min(ways)


def test_equal_trials_are_shared_evenly():
    trials = made([(0, 10, 1)] * 11)
    assert sorted(len(batch) for batch in plan(trials, group, cost, LIMIT)) == [5, 6]
    assert (
        sorted(len(batch) for batch in plan(trials, group, cost, LIMIT, workers=3))
        == [3, 3, 3, 2][::-1]
    )


def test_little_is_wasted_where_that_is_asked_for():
    trials = [Trial({"m": m, "trial": i}, key=i) for m in range(50, 210, 10) for i in range(50)]

    def tokens(trial: Trial) -> Cost:
        return Cost(trial.config["m"], float(trial.config["m"]))

    useful = sum(tokens(trial).work for trial in trials)
    for spread, waste, count in [(float("inf"), 1.6, 1), (2.0, 1.35, 2), (1.0, 1.0, 16)]:
        batches = plan(trials, lambda trial: "and", tokens, 10**9, spread=spread)
        assert len(batches) == count
        assert 1 <= sum(batch.cost.work for batch in batches) / useful <= waste


def test_a_trial_that_does_not_fit_alone_is_named():
    trials = made([(0, 10, 1), (1, 101, 1)])
    with pytest.raises(InputError, match=r"trial 1 alone.*at most 100 bytes, got 101 bytes; make"):
        plan(trials, group, cost, LIMIT)


@pytest.mark.parametrize("largest, workers", [(0, 1), (None, 0)])
def test_limits_are_positive(largest, workers):
    with pytest.raises(InputError, match="a number ≥ 1, got 0"):
        plan(made([(0, 1, 1)]), group, cost, LIMIT, largest, workers)


@pytest.mark.parametrize("bytes_, work", [(-1, 1.0), (1.5, 1.0), (1, 0.0), (1, float("nan"))])
def test_a_cost_is_checked(bytes_, work):
    with pytest.raises(InputError):
        Cost(bytes_, work)


def test_the_packing_is_in_the_hash():
    first, second = made([(0, 1, 1), (0, 1, 1)])
    whole = Cost(2, 2.0)
    there, back = Batch(0, (first, second), whole), Batch(0, (second, first), whole)
    assert there.hash != back.hash
    assert len({there.hash_of(0), there.hash_of(1), back.hash_of(0), back.hash_of(1)}) == 4
    assert there.hash_of(0) != Batch(0, (first,), whole).hash_of(0)
    with pytest.raises(InputError, match="at least one"):
        Batch(0, (), whole)

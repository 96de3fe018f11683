"""A screen: what it says, what it misses, and that all else is as without it."""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np
import pytest
import torch

from dudley.core.errors import DudleyError, InputError
from dudley.train import measures
from dudley.train.period import Period
from dudley.train.problem import Problem
from dudley.train.screen import Screen
from dudley.train.state import State
from dudley.train.trainer import Memory, Trainer
from dudley.train.training import Training

STEPS, EVERY = 60, 5  # 12 checks: no trial is taken off the device, as rounding is by packing
SCREEN = {"rows": 40, "at_least": 0.9}
SUCCESS = {"metric": "holdout_accuracy", "at_least": 0.9505}  # above .95 of 200: 191 are right
AND = {
    "task": {"name": "and", "T": 10, "s": 3, "holdout": 200},
    "model": {"name": "and-classifier", "d": 8, "H": 2, "dropout": [0.0, 0.0, 0.0]},
}
MAJORITY = {
    "task": {"name": "majority", "s": 3, "holdout": 200, "m": 60},
    "model": {"name": "majority-classifier", "d": 8, "k": 8, "width": 8, "unit": "l2"},
}


def problem(kind: dict = AND, **rules) -> Problem:
    """Eight trials of two cells, which differ in m or in T."""
    axis, sizes = ("m", (20, 60)) if kind is AND else ("T", (5, 9))
    how = {"optimiser": {"name": "adam", "lr": 0.03}, "steps": STEPS, "evaluate_every": EVERY}
    return Problem([
        kind | {"task": kind["task"] | {axis: size}, "training": how | rules}
        | {"trial": trial, "seed": 1}
        for size in sizes for trial in range(4)
    ])  # fmt: skip


@cache
def trained(*rules: str, kind: str = "and"):
    """Results, and the curves (checks, trials) of all metrics."""
    how = {"screen": SCREEN} if "screen" in rules else {}
    how |= {"stop": SUCCESS} if "stop" in rules else {}
    sink = Memory()
    results = Trainer(problem(AND if kind == "and" else MAJORITY, **how), sink).run()
    assert results is not None
    names = sink.points[0][1]
    return results, {name: np.stack([at[name] for _, at in sink.points]) for name in names}


def best(results) -> np.ndarray:
    return np.array([one["extremes"]["holdout_accuracy"] for one in results])


@pytest.mark.parametrize("kind", ["and", "majority"])
def test_all_rows_are_seen_of_trials_that_pass_and_at_the_last_step(kind: str):
    full, screened = (trained(*rules, kind=kind)[1] for rules in ((), ("screen",)))
    seen = screened["screened_holdout_accuracy"] >= SCREEN["at_least"]
    seen[-1] = True
    assert 0.05 < seen[:-1].mean() < 0.95, "too plain a case"
    for name in ("holdout_accuracy", "holdout_loss"):
        assert np.array_equal(np.isfinite(screened[name]), seen)
        np.testing.assert_allclose(screened[name][seen], full[name][seen], rtol=1e-5)
    assert np.array_equal(screened["train_loss"], full["train_loss"])


def test_best_values_know_whole_evaluations_only():
    results, curves = trained("screen")
    assert np.array_equal(best(results), np.nanmax(curves["holdout_accuracy"], 0))
    assert not any("screened" in name for one in results for name in one["extremes"])
    last = [one["metrics"]["holdout_accuracy"] for one in results]
    assert last == [one["metrics"]["holdout_accuracy"] for one in trained()[0]]


def test_rows_are_seen_of_those_that_pass_alone(monkeypatch):
    """On a processor the rest is not computed: that is what a screen saves."""
    looked, whole = [], measures.measure_whole

    def heard(problem, weights, members):
        looked.append(members.tolist())
        return whole(problem, weights, members)

    monkeypatch.setattr("dudley.train.period.measure_whole", heard)
    toy = problem(screen=SCREEN)
    state = State.start(toy)
    period = Period(toy, state)
    period._run()
    assert looked == [] and period.values.isnan().any()
    period.passed.copy_(torch.tensor([0, 1, 0, 0, 0, 0, 1, 0]))
    period._see_all_rows()
    assert looked == [[1, 6]]
    column = period.values[:, period.names.index("holdout_accuracy")]
    whole_accuracy = measures.measure_all(toy, state.weights, state.first)["holdout_accuracy"]
    assert column[[1, 6]].equal(whole_accuracy[[1, 6]]) and column.isnan().sum() == 6


def test_a_stop_at_success_finds_the_successes_of_the_full_run():
    """By the best check, trial by trial: what is not run comes after the first success."""
    full, curves = trained()
    success = best(full) > 0.95
    assert 2 <= success.sum() <= 6, "too plain a case"
    first = np.where(success, (curves["holdout_accuracy"] > 0.95).argmax(0), 11)
    for rules in (("stop",), ("stop", "screen")):
        results, _ = trained(*rules)
        assert np.array_equal(best(results) > 0.95, success), rules
        assert [one["steps"] for one in results] == (EVERY * (first + 1)).tolist(), rules
        at = curves["holdout_accuracy"][first, np.arange(8)]
        assert [one["metrics"]["holdout_accuracy"] for one in results] == at.tolist(), rules


def test_a_trial_that_another_rule_ends_has_all_rows_seen():
    rules = {"screen": SCREEN, "stop": {"metric": "train_loss", "at_most": 0.5}}
    results = Trainer(problem(**rules), Memory()).run()
    assert results is not None and min(one["steps"] for one in results) < STEPS
    assert np.isfinite([one["metrics"]["holdout_accuracy"] for one in results]).all()


def test_what_a_screen_misses_is_at_most_the_tail_by_counting():
    screen = Screen(rows=12, at_least=0.75)
    assert screen.passing_errors == 3
    ways = sum(comb(6, k) * comb(24, 12 - k) for k in range(4, 7))
    assert screen.missed(30, 6) == pytest.approx(ways / comb(30, 12), rel=1e-12)
    assert screen.missed(30, 5) < screen.missed(30, 6)
    assert screen.missed(30, 3) == 0  # a success that no screen of such rows can miss
    generator = np.random.default_rng(0)
    orders = generator.permuted(np.tile(np.arange(30) < 6, (20_000, 1)), axis=1)
    share = (orders[:, :12].sum(1) > 3).mean()
    assert abs(share - screen.missed(30, 6)) < 4 * np.sqrt(share / 20_000)


REFUSED = {
    "a split": ({"split": "train"}, "split of a screen"),
    "rows": ({"rows": 0}, "rows of a screen"),
    "a share": ({"at_least": 1.5}, "at_least of a screen"),
    "an unknown field": ({"row": 9}, "did you mean rows"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_nonsense_is_refused(case: str):
    fields, says = REFUSED[case]
    with pytest.raises(DudleyError, match=says):
        Training.of({"optimiser": {"name": "adam"}, "steps": 9, "screen": fields})


def test_a_screen_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="splits of every evaluation"):
        problem(screen={"split": "test"})
    with pytest.raises(InputError, match="fewer than the 200"):
        Trainer(problem(screen={"rows": 200}), Memory())
    how = {"optimiser": {"name": "adam"}, "steps": 9, "screen": {"rows": 5}, "loss": "square"}
    task = {"name": "matrices", "T": 3, "d": 4, "m": 9, "holdout": 20}
    config = {"task": task, "model": {"name": "layers", "d": 4, "L": 1}, "training": how}
    with pytest.raises(InputError, match="one class for each row"):
        Trainer(Problem([config | {"trial": 0, "seed": 0}]), Memory())
    with pytest.raises(InputError, match="0 to 30"):
        Screen(rows=12).missed(30, 31)

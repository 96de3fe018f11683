"""The speed of a batch, by a clock of the test's own."""

from __future__ import annotations

import itertools

import pytest
import torch

from dudley.lab import Batch, Trial, TrialGrid
from dudley.lab.grid.batch import together
from dudley.lab.probe import shorten, speed
from dudley.lab.training import cost, trainings

HOW = {"optimiser": {"name": "adam", "lr": 0.01}, "steps": 40, "evaluate_every": 4}
CONFIG = {
    "task": {"name": "and", "T": 6, "s": 2, "m": 10, "holdout": 5},
    "model": {"name": "and-classifier", "d": 16, "H": 2},
    "training": HOW,
}


def batch(**changed) -> Batch:
    grid: TrialGrid = trainings("probe", 0, CONFIG | {"training": HOW | changed}, 2)
    return Batch(0, grid.trials, cost(grid.trials[0]))


@pytest.mark.parametrize(("seconds", "period"), [(0.5, 1), (3.0, 3), (100.0, 4)])
def test_a_period_is_as_long_as_there_is_time_and_the_first_is_not_counted(seconds, period):
    """A period a tick, however long: the speed is the work of a period."""
    ticks = itertools.count()
    planned = batch()
    assert speed(planned, seconds=seconds, clock=lambda: float(next(ticks))) == pytest.approx(
        planned.cost.work * period / 40
    )
    assert next(ticks) < 7 + min(seconds + 1, 10)


def test_a_period_of_many_steps_is_not_waited_for():
    ticks, planned = itertools.count(), batch(evaluate_every=40)
    measured = speed(planned, clock=lambda: float(next(ticks)))
    assert measured == pytest.approx(planned.cost.work / 40) and next(ticks) < 5


def test_a_training_of_one_step_is_counted_whole():
    ticks, planned = itertools.count(), batch(evaluate_every=1, steps=1)
    assert speed(planned, clock=lambda: float(next(ticks))) == pytest.approx(planned.cost.work)


@pytest.mark.parametrize(("T", "part", "m"), [(100, None, 327), (100_000, None, 32), (100, 8, 80)])
def test_a_step_is_short_whatever_the_trial(T: int, part: int | None, m: int):
    task = CONFIG["task"] | {"T": T, "m": 10_000, "holdout": 5000}
    config = CONFIG | {"task": task, "training": HOW | {"batch": part}}
    cut = shorten(Trial(config, 0)).config
    assert cut["task"] == task | {"m": m, "holdout": m}
    assert cut["model"] == config["model"] and cut["training"] == config["training"]
    assert shorten(Trial(CONFIG, 0)).config == CONFIG, "a small one is left as it is"


def test_the_work_of_what_is_cut_is_counted_as_cut():
    long = CONFIG | {"task": CONFIG["task"] | {"T": 2000, "m": 3200}}
    trials = trainings("probe", 0, long, 2).trials
    planned = Batch(0, trials, together([cost(trial) for trial in trials]))
    ticks = itertools.count()
    measured = speed(planned, seconds=0.0, clock=lambda: float(next(ticks)))
    assert measured == pytest.approx(32 * 2001)  # one trial, one step a tick


def test_threads_are_given_back():
    before = torch.get_num_threads()
    speed(batch(), threads=1, seconds=0.0)
    assert torch.get_num_threads() == before

"""The speed of a batch, by a clock of the test's own."""

from __future__ import annotations

import itertools

import pytest
import torch

from dudley.grid import Batch, Grid
from dudley.train.probe import speed
from dudley.train.work import cost, trainings

HOW = {"optimiser": {"name": "adam", "lr": 0.01}, "steps": 40, "evaluate_every": 4}
CONFIG = {
    "task": {"name": "and", "T": 6, "s": 2, "m": 10, "holdout": 5},
    "model": {"name": "and-classifier", "d": 16, "H": 2},
    "training": HOW,
}


def batch(**changed) -> Batch:
    grid: Grid = trainings("probe", 0, CONFIG | {"training": HOW | changed}, 2)
    return Batch(0, grid.trials, cost(grid.trials[0]))


@pytest.mark.parametrize("seconds", [0.5, 3.0, 100.0])
def test_the_first_period_is_not_counted(seconds):
    """A period a tick: the speed is the work of a period, however many were seen."""
    ticks = itertools.count()
    one = batch()
    assert speed(one, seconds=seconds, clock=lambda: float(next(ticks))) == pytest.approx(
        one.cost.work * 4 / 40
    )
    assert next(ticks) < 3 + min(seconds + 1, 10)


def test_a_training_of_one_period_is_counted_whole():
    ticks, one = itertools.count(), batch(evaluate_every=40)
    assert speed(one, clock=lambda: float(next(ticks))) == pytest.approx(one.cost.work)


def test_threads_are_given_back():
    before = torch.get_num_threads()
    speed(batch(), threads=1, seconds=0.0)
    assert torch.get_num_threads() == before

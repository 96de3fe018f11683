"""An optimiser and a task that files add are trained by their names."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from dudley.train.optimise.base import OPTIMISERS
from dudley.train.problem import Problem
from dudley.train.tasks.registry import TASKS
from dudley.train.trainer import Memory, Trainer

OPTIMISER = '''
from dataclasses import dataclass

from dudley.core.constraint import radius_of
from dudley.train.optimise.base import OPTIMISERS
from dudley.train.optimise.entrywise import Entrywise


@OPTIMISERS.register("signs")
@dataclass(frozen=True)
class Signs(Entrywise):
    """W ← W − rate · sign(g)."""

    lr: float = 1e-2
    weight_decay: float = 0.0

    def __post_init__(self):
        radius_of("lr of signs", self.lr)

    def factors(self, rate, step):
        return (rate,)

    def move(self, W, G, slots, factors, decays):
        W.sub_(factors[0] * G.sign())
'''
TASK = '''
from dataclasses import dataclass
from typing import ClassVar

from dudley.core.philox import Stream, normal
from dudley.train.tasks.base import Labelled, Task
from dudley.train.tasks.registry import TASKS


@TASKS.register("first-entry")
@dataclass(frozen=True)
class FirstEntry(Task):
    """Gaussian matrices; the label is the sign of the first entry."""

    name: ClassVar[str] = "first-entry"
    T: int
    d: int
    m: int
    holdout: int = 50

    def sample(self, keys):
        return self.drawn(keys, Stream.INPUTS, self.m)

    def held_out(self, keys, cell_keys=None, cell=None, stream=Stream.HOLDOUT):
        return self.drawn(keys, stream, self.holdout)

    def drawn(self, keys, stream, rows):
        X = normal(keys, stream, 0, rows * self.T * self.d).float()
        X = X.reshape(-1, rows, self.T, self.d)
        return Labelled(X, (X[:, :, 0, 0] > 0).long())
'''


@pytest.fixture
def signs(add):
    yield add("signs", OPTIMISER).Signs
    OPTIMISERS.units.remove("signs")


@pytest.fixture
def first_entry(add):
    yield add("first_entry", TASK).FirstEntry
    TASKS.remove("first-entry")


def test_they_are_trained_by_name(signs, first_entry):
    config = {
        "task": {"name": "first-entry", "T": 1, "d": 2, "m": 40},
        "model": {"name": "layers", "d": 2, "L": 1},
        "training": {
            "optimiser": {"name": "signs", "lr": 0.02}, "steps": 40, "loss": "logistic",
        },
    }  # fmt: skip
    problem = Problem([config | {"trial": trial, "seed": 0} for trial in range(3)])
    assert isinstance(problem.training.optimiser, signs)
    assert all(isinstance(task, first_entry) for task in problem.tasks)
    sink = Memory()
    trained = Trainer(problem, sink).run()
    assert trained is not None
    losses = [metrics["train_loss"] for _, metrics in sink.points]
    assert (losses[-1] < losses[0]).all()
    assert problem.tasks[0].config() == config["task"]


def test_a_field_that_is_none_of_theirs_is_refused(signs):
    from dudley.core.errors import UnknownName

    with pytest.raises(UnknownName, match="unknown field of optimiser signs 'rate'"):
        OPTIMISERS.of({"name": "signs", "rate": 0.1})

"""A training that a file adds is declared by its table, certified, saved and trained again."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dudley.certificates.learners.training import TrainingLearner, learner_of
from dudley.certificates.training import certify_training, verify_training
from dudley.certificates.trainings import files
from dudley.certificates.trainings.base import TRAININGS
from dudley.core.errors import UnknownName

SOURCE = '''
from dataclasses import dataclass
from typing import ClassVar

from dudley.certificates.trainings.base import TRAININGS
from dudley.certificates.trainings.descent import Descent
from dudley.core.backend import torch


@TRAININGS.register("linear")
@dataclass(frozen=True, kw_only=True)
class LinearTraining(Descent):
    """A linear map."""

    name: ClassVar[str] = "linear"
    width: int
    rate: float = 0.1

    def outputs(self):
        return 2

    def make_model(self):
        return torch.nn.Linear(self.width, 2)

    def fit(self, model, X, y, step):
        self.descend(model, X, y, step)
'''


@pytest.fixture
def linear(add):
    yield add("linear_training", SOURCE).LinearTraining
    TRAININGS.remove("linear")


def test_it_is_certified_saved_and_trained_again(linear, tmp_path):
    X = np.random.default_rng(0).standard_normal((800, 3)).astype(np.float32)
    data = X, (X[:, 0] > 0) * 1
    learner = TrainingLearner(linear(width=3, steps=(40,), batch=16))
    result = certify_training(learner, data=data, batches=6, rounds=4, seed=0)
    assert result.certificate.value < 0.2
    files.save(tmp_path / "model.safetensors", result.model, learner.training)
    file = json.loads(result.certificate.text())
    again = learner_of(file["declared"]["learner"])
    assert verify_training(file, again, data, files.load(tmp_path / "model.safetensors")).holds
    assert verify_training(file, again, data).holds


def test_it_is_gone_afterwards():
    assert "linear" not in TRAININGS
    with pytest.raises(UnknownName, match="known"):
        learner_of({"name": "training", "training": {"name": "linear"}, "seed": 0, "warm": False,
                    "batch": 1})  # fmt: skip

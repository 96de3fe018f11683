"""A learner made of a named training: all of it is plain data, so a file can declare it.

The generators of torch, numpy and Python are seeded by (seed, round) before the start is made and
before each fit, as in `learners.module`. The device is not declared: on another one the arithmetic
may give other weights and hence other picks, so that a replay takes the same kind of device.

>>> from dudley.certificates.trainings.encoder import TokenEncoder
>>> training = TokenEncoder(length=4, layers=1, d=8, heads=2, hidden=8, steps=(3,))
>>> learner = TrainingLearner(training, seed=1)
>>> X, y = np.eye(4, dtype=np.int64), np.array([0, 1, 0, 1])
>>> first, second = (learner.train(X, y, 1, learner.start()) for _ in range(2))
>>> first.sha256 == second.sha256, learner_of(learner.table()) == learner
(True, True)
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.learners.base import Learner, round_seed
from dudley.certificates.learners.module import START, seed_all
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.predictor import Predictor
from dudley.certificates.trainings import files
from dudley.certificates.trainings.base import NamedTraining, training_of
from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import InputError

SETTINGS = ("name", "training", "seed", "warm", "batch")


@dataclass(frozen=True)
class TrainingLearner(Learner):
    """Final: a named training, a seed; ``warm`` goes on from the model of the round before."""

    training: NamedTraining
    seed: int = 0
    warm: bool = False
    batch: int = 256
    device: str = "cpu"
    saves: ClassVar[bool] = True

    def __post_init__(self):
        if not isinstance(self.training, NamedTraining):
            got = type(self.training).__name__
            raise InputError("training", "a named training, such as ViT(classes=10)", got)
        expect_seed(self.seed)
        if not isinstance(self.warm, bool):
            raise InputError("warm", "true or false", self.warm)
        size_of("batch", self.batch)
        expect_device(self.device)

    def table(self) -> dict[str, Any]:
        settings = {"seed": self.seed, "warm": self.warm, "batch": self.batch}
        return {"name": "training", "training": self.training.table(), **settings}

    def start(self) -> Predictor:
        seed_all(round_seed(self.seed, START))
        return ModulePredictor(self.training.make_model().eval(), self.batch, self.device)

    def train(self, X: np.ndarray, y: np.ndarray, step: int, previous: Predictor) -> Predictor:
        if not isinstance(previous, ModulePredictor):
            raise InputError("model before", "a torch module", type(previous).__name__)
        model = copy.deepcopy(previous.module)
        seed_all(round_seed(self.seed, step))
        model.to(self.device).train()
        self.training.fit(model, X.copy(), y.astype(np.int64), step)
        return ModulePredictor(model.eval(), self.batch, self.device)

    def save(self, model: Predictor, path: Path) -> None:
        assert isinstance(model, ModulePredictor)
        files.save(path, model, self.training)

    def load(self, path: Path) -> Predictor:
        return files.load(path, self.device)


def learner_of(
    table: Mapping[str, Any], device: str = "cpu", start: str | Path | None = None
) -> TrainingLearner:
    """The learner that a certificate declares; ``start`` is the folder of an ``hf`` training."""
    if not isinstance(table, Mapping) or table.get("name") != "training":
        name = table.get("name") if isinstance(table, Mapping) else table
        fix = "in Python: du.verify_training(certificate, learner, data)"
        raise InputError("learner", "a named training, which a file can declare", name, fix)
    if set(table) != set(SETTINGS):
        raise InputError("learner", f"the fields {', '.join(SETTINGS)}", ", ".join(table))
    training = training_of(table["training"], start)
    return TrainingLearner(training, table["seed"], table["warm"], table["batch"], device)


def expect_seed(seed: Any) -> None:
    """Refuse what is no seed."""
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 1 << 32:
        raise InputError("seed", "a whole number below 2^32", seed)


def expect_device(device: str) -> None:
    """Refuse a device that torch does not have here."""
    try:
        kind = torch.device(device).type
    except (RuntimeError, TypeError) as error:
        raise InputError("device", "cpu or cuda", error) from None
    if kind not in ("cpu", "cuda"):
        raise InputError("device", "cpu or cuda", device)
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError("device", "a device of this machine", device, "take cpu")

"""A learner made of any torch module: a factory, a seed, and a function that trains.

``make_model()`` builds the start, under a seed of its own. ``fit(model, X, y)`` trains it in place
on the picks, which come as arrays in the order in which they were picked. Before each call the
generators of torch, numpy and Python are seeded by (seed, round), so that shuffles, dropout and
augmentation are functions of the picks and the seed. Training mode is set before ``fit``, and
evaluation mode after it.

>>> from dudley.core.backend import torch
>>> def fit(model, X, y):
...     with torch.no_grad():
...         model.bias += torch.rand(2)
>>> learner = ModuleLearner(lambda: torch.nn.Linear(3, 2), fit)
>>> X, y = np.zeros((1, 3), np.float32), np.zeros(1, np.int64)
>>> first, second = (learner.train(X, y, 1, learner.start()) for _ in range(2))
>>> first.sha256 == second.sha256
True
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.certificates import tensors
from dudley.certificates.learners.base import Learner, round_seed
from dudley.certificates.learners.module_predictor import ModulePredictor, state_of
from dudley.certificates.predictor import Predictor
from dudley.core.backend import torch
from dudley.core.errors import InputError

START = -1  # the round of the start, for its seed
WEIGHTS = "dudley.module/1"


@dataclass(frozen=True)
class ModuleLearner(Learner):
    """Final: factory, training, seed; ``warm`` goes on from the model of the round before."""

    make_model: Callable[[], torch.nn.Module]
    fit: Callable[[torch.nn.Module, np.ndarray, np.ndarray], Any]
    seed: int = 0
    warm: bool = False
    batch: int = 256
    device: str = "cpu"
    saves: ClassVar[bool] = True

    def table(self) -> dict[str, Any]:
        """Names of the user's functions: what they do is declared, not stored."""
        return {
            "name": "module",
            "make_model": getattr(self.make_model, "__qualname__", "a factory"),
            "fit": getattr(self.fit, "__qualname__", "a training"),
            "seed": self.seed,
            "warm": self.warm,
            "batch": self.batch,
        }

    def start(self) -> Predictor:
        return ModulePredictor(self._made().eval(), self.batch, self.device)

    def train(self, X: np.ndarray, y: np.ndarray, step: int, previous: Predictor) -> Predictor:
        if not isinstance(previous, ModulePredictor):
            raise InputError("model before", "a torch module", type(previous).__name__)
        model = copy.deepcopy(previous.module)
        seed_all(round_seed(self.seed, step))
        model.to(self.device).train()
        self.fit(model, X.copy(), y.astype(np.int64))
        return ModulePredictor(model.eval(), self.batch, self.device)

    def save(self, model: Predictor, path: Path) -> None:
        assert isinstance(model, ModulePredictor)
        tensors.write(path, {"schema": WEIGHTS}, state_of(model.module))

    def load(self, path: Path) -> Predictor:
        header, arrays = tensors.read(path)
        if header.get("schema") != WEIGHTS:
            raise InputError(path.name, f"weights with the header {WEIGHTS}", "another file")
        module = self._made()
        state = {name: torch.from_numpy(W.copy()) for name, W in arrays.items()}
        try:
            module.load_state_dict(state)
        except RuntimeError as error:
            raise InputError(path.name, "the weights of this module", error) from None
        return ModulePredictor(module.eval(), self.batch, self.device)

    def _made(self) -> torch.nn.Module:
        seed_all(round_seed(self.seed, START))
        return self.make_model()


def seed_all(seed: int) -> None:
    """Seed the generators that a training may use."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)

"""What learners share whose rounds are runs of another library's trainer on a torch module."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from dudley.certificates.learners.base import Learner
from dudley.certificates.learners.module import ModuleLearner
from dudley.certificates.predictor import Predictor
from dudley.core.backend import torch


class AdaptedLearner(Learner):
    """Abstract: a learner of modules that another library fits."""

    seed: int
    warm: bool
    batch: int
    device: str
    saves: ClassVar[bool] = True

    @abstractmethod
    def _make(self) -> torch.nn.Module:
        """The start."""

    @abstractmethod
    def _fit(self, module: torch.nn.Module, X: np.ndarray, y: np.ndarray) -> None:
        """One run of the library's trainer; torch's generator was seeded by (seed, round)."""

    @cached_property
    def _modules(self) -> ModuleLearner:
        return ModuleLearner(self._make, self._fit, self.seed, self.warm, self.batch, self.device)

    def start(self) -> Predictor:
        return self._modules.start()

    def train(self, X: np.ndarray, y: np.ndarray, step: int, previous: Predictor) -> Predictor:
        return self._modules.train(X, y, step, previous)

    def save(self, model: Predictor, path: Path) -> None:
        self._modules.save(model, path)

    def load(self, path: Path) -> Predictor:
        return self._modules.load(path)

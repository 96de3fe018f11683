"""Learners: a start and a training, both functions of a seed and of the examples they are shown.

Pick-to-learn calls ``start`` once, or ``prepare`` where a share of the sample is for ordinary
training, and ``train`` in every round with all picks so far, in the order in which they were
picked. What comes out may depend on these examples, on the initial share, on the round, on the seed
and on the model before, and on nothing else: not on the examples that were not picked, on their
number, or on the clock.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.predictor import Predictor
from dudley.core.errors import InputError


class Learner(ABC):
    """Abstract: a start and a training.

    ``warm`` says whether a round goes on from the model of the round before. Otherwise each round
    begins at the start, which an initial share replaces.
    """

    seed: int = 0
    warm: bool = False
    saves: ClassVar[bool] = False  # whether `save` and `load` are there

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """Plain data that declare the learner: name, seed, settings."""

    @abstractmethod
    def start(self) -> Predictor:
        """The model before it has seen any example of the sample."""

    @abstractmethod
    def train(self, X: np.ndarray, y: np.ndarray, step: int, previous: Predictor) -> Predictor:
        """The model after round ``step`` = 1, 2, … with these picks; it begins at ``previous``."""

    def prepare(self, X: np.ndarray, y: np.ndarray) -> Predictor:
        """The model after ordinary training on the initial share; it replaces the start."""
        return self.train(X, y, 0, self.start())

    def with_share(self, X: np.ndarray, y: np.ndarray) -> Learner:
        """The learner that may read the initial share in every round; this one does not."""
        return self

    def save(self, model: Predictor, path: Path) -> None:
        """Write the weights of a model, for a later resume."""
        raise InputError("checkpoint", "a learner that can save its models", type(self).__name__)

    def load(self, path: Path) -> Predictor:
        """Read what `save` wrote."""
        raise InputError("checkpoint", "a learner that can load its models", type(self).__name__)


def round_seed(seed: int, step: int) -> int:
    """The seed of a round, below 2^31: a function of the learner's seed and the round.

    >>> round_seed(0, 1) == round_seed(0, 1) != round_seed(0, 2)
    True
    """
    digest = hashlib.sha256(f"round {step} of {seed}".encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1

"""A toy whose errors are known: inputs of [0, 1], of class 1 from .3 on, learnt as one cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.certificates.data import Dataset
from dudley.certificates.learners.base import Learner
from dudley.certificates.predictor import Predictor


@dataclass(frozen=True)
class Cut(Predictor):
    """Class 1 from a number on."""

    at: float

    @property
    def sha256(self) -> str:
        return f"{self.at:064.20f}"

    def outputs(self, X):
        return X[:, :1].astype(float) - self.at


@dataclass(frozen=True)
class Cuts(Learner):
    """The least example of class 1 of those it is shown, and ``off`` beyond it."""

    off: float = 0.0

    def table(self) -> dict[str, Any]:
        return {"name": "cuts", "seed": 0, "off": self.off}

    def start(self) -> Predictor:
        return Cut(1.0)

    def train(self, X, y, step, previous):
        ones = X[y == 1, 0]
        return Cut(float(ones.min()) - 1e-9 + self.off if len(ones) else 1.0)


def line(n: int, seed: int = 0) -> Dataset:
    """Points of [0, 1], of class 1 from .3 on."""
    X = np.random.default_rng(seed).random((n, 1))
    return Dataset(X, (X[:, 0] >= 0.3).astype(np.int64))

"""Two models and two samples: what a certificate of a retrained model is about.

A model *decides* on an input for the class whose output leads all others by more than τ. Two
models *agree* on an input if both decide, and for the same class. With one output f the classes
are 1 and 0, and f leads −f by |f|, as margins count it.

>>> leads(np.array([[0.0, 2.0, 0.0], [1.0, 1.0, 0.0], [np.nan, 1.0, 0.0]]))
(array([1, 0, 1]), array([  2.,   0., -inf]))
>>> leads(np.array([[0.5], [-0.25]]))
(array([1, 0]), array([0.5 , 0.25]))
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dudley.certificates.data import Dataset, rows_of
from dudley.certificates.predictor import Predictor, margins
from dudley.core.errors import InputError


@dataclass(frozen=True, eq=False)
class RetrainedPair(Predictor):
    """Final: the model of the picks, and the retrained one, which is what answers."""

    picked: Predictor
    retrained: Predictor

    @property
    def sha256(self) -> str:
        both = f"{self.picked.sha256} {self.retrained.sha256}"
        return hashlib.sha256(both.encode()).hexdigest()

    def outputs(self, X: np.ndarray) -> np.ndarray:
        return self.retrained.outputs(X)

    def facts(self) -> dict[str, Any]:
        return self.retrained.facts() | {"picked": self.picked.facts()}

    def agreement(self, X: np.ndarray) -> np.ndarray:
        """How far both lead for the same class: they agree where it is above the tolerance."""
        (first, here), (second, there) = (
            leads(model.outputs(X)) for model in (self.picked, self.retrained)
        )
        return np.where(first == second, np.minimum(here, there), -np.inf)


@dataclass(frozen=True, eq=False)
class RetrainedData:
    """Final: the labelled sample, and fresh inputs that no training has seen."""

    labelled: Dataset
    unlabelled: np.ndarray

    def __post_init__(self):
        X, U = self.labelled.X, self.unlabelled
        if U.shape[1:] != X.shape[1:] or U.dtype != X.dtype or not len(U):
            expected = f"inputs of the type {X.dtype} and the shape {X.shape[1:]} of the sample's"
            raise InputError("unlabelled inputs", expected, f"{U.dtype} of shape {U.shape}")

    @cached_property
    def inputs(self) -> Dataset:
        """The unlabelled inputs as a data set: checked, and with a hash."""
        return Dataset(self.unlabelled, np.zeros(len(self.unlabelled), np.int64))

    @cached_property
    def whole(self) -> Dataset:
        """All inputs together, as draws of one population."""
        both = [self.labelled.X, self.inputs.X]
        return Dataset(np.concatenate(both), np.zeros(self.labelled.n + self.inputs.n, np.int64))

    @property
    def shared(self) -> int:
        """How many different rows are in both."""
        return len(rows_of(self.labelled.X) & rows_of(self.inputs.X))


def leads(outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The class that leads, and by how much; by nothing, or −∞, where none does."""
    if outputs.shape[1] == 1:
        leaders = (outputs[:, 0] > 0).astype(np.int64)
    else:
        leaders = np.where(np.isnan(outputs), -np.inf, outputs).argmax(axis=1)
    return leaders, margins(outputs, leaders)

"""Predictors: whatever can be certified, reduced to what a certificate needs of it.

A predictor has outputs for examples, a hash of all that decides them, and plain facts for the file.
One output f stands for two classes (class 1 where f > 0), several are logits. The margin of an
example is ±f, or the logit of its class less the largest other one. An example *fails* where its
margin is at most τ, a tolerance that is declared before the data: with τ = 0 a failure is an error
and a tie is one. With τ > 0 every error is a failure, and so is an example whose logits another
machine's arithmetic might order otherwise.

>>> class Constant(Predictor):
...     sha256 = "0" * 64
...     def outputs(self, X):
...         return np.tile([0.0, 1e-9], (len(X), 1))
>>> y = np.array([1, 0])
>>> failures(Constant().outputs(y[:, None]), y, 0.0), failures(Constant().outputs(y), y, 1e-6)
(array([False,  True]), array([ True,  True]))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from dudley.core.errors import InputError

if TYPE_CHECKING:
    from dudley.certificates.data import Dataset


class Predictor(ABC):
    """Abstract: outputs, a hash, facts."""

    @property
    @abstractmethod
    def sha256(self) -> str:
        """Of all that decides the outputs."""
        ...

    @abstractmethod
    def outputs(self, X: np.ndarray) -> np.ndarray:
        """(n, 1) or (n, classes), in float64; an output depends on its own example alone."""

    def facts(self) -> dict[str, Any]:
        """What a certificate says about it."""
        return {"sha256": self.sha256}

    def content(self, X: np.ndarray) -> np.ndarray:
        """What the outputs of each example are a function of: here, the example as it is stored."""
        return X

    def margins(self, data: Dataset) -> np.ndarray:
        """One margin an example; ≤ 0 is an error."""
        return margins(self.outputs(data.X), data.y)


def margins(outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """y·f for one output, the logit of y less the largest other for several; −∞ where undefined.

    >>> margins(np.array([[0.5], [0.5]]), np.array([1, 0]))
    array([ 0.5, -0.5])
    >>> margins(np.array([[0.5, 2.0, 1.0]]), np.array([1]))
    array([1.])
    """
    classes = max(2, outputs.shape[1])
    if len(y) and y.max() >= classes:
        raise InputError("y", f"labels below {classes}, the outputs of the model", y.max())
    if outputs.shape[1] == 1:
        margin = np.where(y == 1, outputs[:, 0], -outputs[:, 0])
    else:
        rows, label = np.arange(len(y)), y.astype(np.int64)
        others = outputs.copy()
        others[rows, label] = -np.inf
        with np.errstate(invalid="ignore"):
            margin = outputs[rows, label] - others.max(axis=1)
    return np.where(np.isnan(margin), -np.inf, margin)


def failures(outputs: np.ndarray, y: np.ndarray, tolerance: float) -> np.ndarray:
    """Where the margin is at most the tolerance τ."""
    return margins(outputs, y) <= tolerance

"""A learner made of an estimator with ``fit`` and ``predict``, as scikit-learn has them.

Each round trains a fresh copy on the initial share and all picks: the estimator's parameters
(``get_params``), with every ``random_state`` set to the seed of the round. Estimators among the
parameters, as a pipeline has them, are fresh copies, too: otherwise a later round would train on
in the model of an earlier one. Only ``predict`` is read, so the outputs are 1 for the predicted
class and 0 for the others, and margins are 1 or −1. Until the examples have two classes, the
prediction is the class of the first one (class 0 before there is any): many estimators refuse to
fit a single class.

The hash of a model is that of the examples, the parameters and the round, from which it follows;
that the training is deterministic is checked by its predictions on them.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dudley.certificates.data import sha256_of
from dudley.certificates.learners.base import Learner, round_seed
from dudley.certificates.predictor import Predictor
from dudley.core.errors import InputError


@dataclass(frozen=True, eq=False)
class EstimatorPredictor(Predictor):
    """Final: what ``predict`` says, as outputs of 0 and 1."""

    predict: Callable[[np.ndarray], np.ndarray]
    classes: int
    digest: str
    kind: str

    @property
    def sha256(self) -> str:
        return self.digest

    def outputs(self, X: np.ndarray) -> np.ndarray:
        made = np.zeros((len(X), self.classes))
        if not len(X):
            return made
        labels = np.asarray(self.predict(flat(X))).astype(np.int64)
        if labels.shape != (len(X),) or labels.min() < 0 or labels.max() >= self.classes:
            expected = f"{len(X)} labels below {self.classes}"
            raise InputError("predict", expected, f"shape {labels.shape}")
        made[np.arange(len(X)), labels] = 1.0
        return made

    def facts(self) -> dict[str, Any]:
        return {"sha256": self.sha256, "estimator": self.kind}


@dataclass(frozen=True)
class EstimatorLearner(Learner):
    """Final: an estimator that is never fitted itself, the number of classes, a seed."""

    estimator: Any
    classes: int
    seed: int = 0
    warm: bool = field(default=False, init=False)
    share: tuple[np.ndarray, np.ndarray] | None = None  # examples that come before the picks

    def __post_init__(self):
        for name in ("fit", "predict", "get_params", "set_params"):
            if not callable(getattr(self.estimator, name, None)):
                got = f"{type(self.estimator).__name__} without {name}"
                raise InputError("estimator", "fit, predict, get_params and set_params", got)

    def table(self) -> dict[str, Any]:
        return {
            "name": "estimator",
            "estimator": type(self.estimator).__name__,
            "parameters": self._parameters(),
            "classes": self.classes,
            "seed": self.seed,
        }

    def start(self) -> Predictor:
        return self._constant(0)

    def with_share(self, X: np.ndarray, y: np.ndarray) -> Learner:
        return replace(self, share=(X, y))

    def prepare(self, X: np.ndarray, y: np.ndarray) -> Predictor:
        return replace(self, share=None).train(X, y, 0, self.start())

    def train(self, X: np.ndarray, y: np.ndarray, step: int, previous: Predictor) -> Predictor:
        if self.share is not None:
            X, y = (np.concatenate(parts) for parts in zip(self.share, (X, y), strict=True))
        labels = np.unique(y)
        if len(labels) < 2:
            return self._constant(int(labels[0]))
        fresh = _unfitted(self.estimator)
        states = [name for name in fresh.get_params() if name.split("__")[-1] == "random_state"]
        if states:
            fresh.set_params(**dict.fromkeys(states, round_seed(self.seed, step)))
        fresh.fit(flat(X), y)
        seen = np.asarray(fresh.predict(flat(X)))
        text = json.dumps([self.table(), step], sort_keys=True).encode()
        of = {"X": X, "y": y, "seen": seen, " ": np.frombuffer(text, np.uint8)}
        return EstimatorPredictor(
            fresh.predict, self.classes, sha256_of(of), type(self.estimator).__name__
        )

    def _constant(self, label: int) -> Predictor:
        digest = hashlib.sha256(f"constant {label}".encode()).hexdigest()

        def predict(X: np.ndarray) -> np.ndarray:
            return np.full(len(X), label)

        return EstimatorPredictor(predict, self.classes, digest, "constant")

    def _parameters(self) -> dict[str, Any]:
        plain = self.estimator.get_params(deep=False)
        return {name: _plain(value) for name, value in sorted(plain.items())}


def flat(X: np.ndarray) -> np.ndarray:
    """Examples as rows of numbers, as estimators read them."""
    return X.reshape(len(X), -1)


def _unfitted(value: Any) -> Any:
    """An estimator of the same parameters that shares nothing with this one; or a value's copy."""
    if callable(getattr(value, "get_params", None)) and not isinstance(value, type):
        parameters = value.get_params(deep=False).items()
        return type(value)(**{name: _unfitted(inner) for name, inner in parameters})
    if type(value) is list:
        return [_unfitted(inner) for inner in value]
    if type(value) is tuple:
        return tuple(_unfitted(inner) for inner in value)
    return copy.deepcopy(value)


def _plain(value: Any) -> Any:
    simple = value is None or isinstance(value, bool | int | str)
    if simple or (isinstance(value, float) and np.isfinite(value)):
        return value
    return repr(value)[:200]

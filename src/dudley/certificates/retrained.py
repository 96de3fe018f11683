"""Certify the model that was trained once more, on all data: ``du.certify_retrained``.

The number of pick-to-learn is about the model of its picks. `methods.retrained.method` says, with
its proof, what fresh inputs without labels add to it, so that the retrained model is covered.

>>> from dudley.certificates.learners.base import Learner
>>> from dudley.certificates.training import certify_training
>>> class Cut(Predictor):
...     sha256 = "0" * 64
...     def __init__(self, at): self.at = at
...     def outputs(self, X): return X - self.at
>>> class Cuts(Learner):
...     def table(self): return {"name": "cuts", "seed": 0}
...     def start(self): return Cut(1.0)
...     def train(self, X, y, step, previous): return Cut(X[y == 1].min() - 1e-9)
>>> X = np.random.default_rng(0).random((4000, 1))
>>> sample, fresh = (X[:2000], (X[:2000, 0] > 0.3) * 1), X[2000:]
>>> result = certify_training(Cuts(), data=sample, seed=0)
>>> final = certify_retrained(result, sample, fresh)
>>> final.certificate.facts.disagreements, round(final.certificate.value, 4)
(0, 0.0141)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dudley.certificates.certificate import Certificate
from dudley.certificates.certify import Data
from dudley.certificates.methods.pick_to_learn.declared import PickDeclared
from dudley.certificates.methods.retrained.declared import RetrainedDeclared
from dudley.certificates.methods.retrained.method import Retrained
from dudley.certificates.methods.retrained.pair import RetrainedData, RetrainedPair
from dudley.certificates.predictor import Predictor
from dudley.certificates.training import CertifiedTraining, expect_data
from dudley.core.errors import InputError
from dudley.core.shown import Shown


@dataclass(frozen=True, eq=False)
class CertifiedRetraining(Shown):
    """Both models, both samples and the certificate: what `verify` needs."""

    pair: RetrainedPair
    data: RetrainedData
    certificate: Certificate
    shown_as: ClassVar[str] = "certified"

    @property
    def model(self) -> Predictor:
        """The retrained model, which the number is about."""
        return self.pair.retrained


def certify_retrained(
    result: CertifiedTraining,
    data: Data,
    unlabelled: np.ndarray,
    model: Predictor | None = None,
    *,
    share: float = 0.2,
) -> CertifiedRetraining:
    """Certify a model of all data at the δ of the training; ``share`` of it pays for disagreements.

    Without a ``model`` the learner's ordinary training is run on all data. ``unlabelled`` are fresh
    inputs of the same population, which no training has seen.
    """
    declared, sample = result.certificate.declared, expect_data(data)
    if not isinstance(declared, PickDeclared):
        got = f"one of {result.certificate.method}"
        raise InputError("certificate", "one of pick-to-learn", got)
    both = RetrainedData(sample, np.asarray(unlabelled))
    whole = RetrainedDeclared(
        delta=declared.delta,
        population=declared.population,
        among=declared.among,
        repeats=declared.repeats,
        share=share,
        picking=declared,
    )
    if model is None:
        model = result.learner.prepare(sample.X, sample.y)
    pair = RetrainedPair(result.model, model)
    certificate = Retrained().made(pair, both, whole, result.certificate.choices)
    return CertifiedRetraining(pair, both, certificate)

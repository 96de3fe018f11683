"""Certify a training: ``du.certify_training(make_model, fit, data)`` for any torch module.

The model is trained by pick-to-learn (`dudley.certificates.methods.pick_to_learn.bound` has the
rule and the proof), on a few examples that it picks itself. The certificate bounds the error of
exactly this model.

>>> from dudley.core.backend import torch
>>> def fit(model, X, y):
...     optimiser = torch.optim.Adam(model.parameters(), 0.1)
...     for _ in range(40):
...         loss = torch.nn.functional.cross_entropy(model(torch.tensor(X)), torch.tensor(y))
...         optimiser.zero_grad(); loss.backward(); optimiser.step()
>>> X = np.random.default_rng(0).standard_normal((2000, 2), dtype=np.float32)
>>> data = X, (X[:, 0] > 0) * 1
>>> result = certify_training(lambda: torch.nn.Linear(2, 2), fit, data, seed=0)
>>> result.certificate.facts.failures, result.certificate.value < 0.05
(0, True)
>>> verify_training(result.certificate.to_json(), result.learner, data).holds
True
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.beside import SHARES, HoldOutBeside, hold_out_beside
from dudley.certificates.certificate import Certificate
from dudley.certificates.certify import Data, examples
from dudley.certificates.data import Dataset
from dudley.certificates.learners.base import Learner
from dudley.certificates.methods.pick_to_learn.checkpoint import PickCheckpoint, recorded_seed
from dudley.certificates.methods.pick_to_learn.declared import PickDeclared
from dudley.certificates.methods.pick_to_learn.method import REPLAYED, PickToLearn
from dudley.certificates.methods.pick_to_learn.rule import PickProgress, run_rule
from dudley.certificates.methods.pick_to_learn.sample import PickSample
from dudley.certificates.order import declared_seed
from dudley.certificates.predictor import Predictor
from dudley.certificates.records import to_json
from dudley.certificates.verify import Difference, Verification, verify
from dudley.core.errors import InputError
from dudley.core.shown import Shown


@dataclass(frozen=True, eq=False)
class CertifiedTraining(Shown):
    """The model, its certificate, and the learner that gave it."""

    model: Predictor
    certificate: Certificate
    learner: Learner
    shown_as: ClassVar[str] = "certified"

    def beside(
        self,
        data: Data,
        shares: Sequence[float] = SHARES,
        say: Callable[[str], None] | None = None,
    ) -> HoldOutBeside:
        """The hold-out that the same examples would have bought (`dudley.certificates.beside`)."""
        declared: PickDeclared = self.certificate.declared
        if declared.event != "wrong":
            fix = "a hold-out bounds the error; compare a certificate of errors"
            raise InputError("event", "wrong", declared.event, fix)
        return hold_out_beside(
            self.learner,
            expect_data(data),
            delta=declared.delta,
            seed=declared.seed,
            shares=shares,
            pool=declared.pool,
            say=say,
            population=declared.population,
            among=declared.among,
            repeats=declared.repeats,
        )


def certify_training(
    make_model: Callable[[], Any] | Learner | Any,
    fit: Callable[..., Any] | None = None,
    data: Data = None,
    *,
    seed: int | None = None,
    warm: bool = False,
    say: Callable[[PickProgress], None] | None = None,
    folder: str | Path | None = None,
    **declared: Any,
) -> CertifiedTraining:
    """Train by pick-to-learn and certify the model that comes out.

    ``make_model`` and ``fit(model, X, y)`` are those of `learners.module`; a scikit-learn estimator
    or any other `Learner` may stand in their place. ``declared`` has the fields of `PickDeclared`:
    delta, batches, rounds, key, initial, tolerance, expected, most, pool, …. With a ``folder`` the
    state is saved after every round, and a run that was killed goes on at the same picks. Without a
    ``seed`` one is drawn, and a run that goes on has the one of its folder.
    """
    seed = declared_seed(seed, recorded_seed(folder))
    sample_data = expect_data(data)
    learner = _learner(make_model, fit, sample_data, seed, warm)
    method = PickToLearn()
    if "learner" in declared:
        raise InputError("learner", "nothing: it is told by make_model and fit", "a declaration")
    whole = method.read_declared({**_plain(declared), "learner": learner.table(), "seed": seed})
    method.expect_independent(learner.start(), sample_data, whole)
    checkpoint = None
    if folder is not None:
        checkpoint = PickCheckpoint(Path(folder), _digest(whole, sample_data), learner, seed)
    sample = PickSample.of(sample_data, whole)
    result = run_rule(learner, sample, say, checkpoint)
    if (picks := len(list(result.choices.picks))) >= sample.N:
        fix = "take more examples, or a learner that fits what it is shown"
        raise InputError("picks", f"fewer than the {sample.N:,} examples", picks, fix)
    certificate = method.made(result.model, sample_data, whole, result.choices)
    return CertifiedTraining(result.model, certificate, learner)


def verify_training(
    certificate: Mapping[str, Any],
    learner: Learner,
    data: Data,
    model: Predictor | None = None,
    say: Callable[[PickProgress], None] | None = None,
) -> Verification:
    """Verify a certificate of pick-to-learn: train again, demand the same picks, recompute all.

    With a ``model`` nothing is trained: its failures are counted again, and that it was trained on
    these picks alone stays declared. Otherwise the declarations that are left do not name it.
    """
    file, sample_data = dict(certificate), expect_data(data)
    if model is not None:
        return verify(file, model, sample_data)
    method = PickToLearn()
    declared: PickDeclared = method.read_declared(file["declared"])
    if declared.learner.entries != learner.table():
        odd = Difference("declared.learner", declared.learner.entries, learner.table())
        return Verification(file["value"], 0, (odd,), ())
    result = run_rule(learner, PickSample.of(sample_data, declared), say, twice=False)
    again = to_json(result.choices)
    if again != file["choices"]:
        odd = Difference("choices", file["choices"], again)
        return Verification(file["value"], 0, (odd,), ())
    verification = verify(file, result.model, sample_data)
    rest = tuple(words for words in verification.declarations if words != REPLAYED)
    return replace(verification, declarations=rest)


def _learner(
    make_model: Any, fit: Callable[..., Any] | None, data: Dataset, seed: int, warm: bool
) -> Learner:
    """The learner that was given, or the one that two functions or an estimator make."""
    if isinstance(make_model, Learner):
        return make_model
    if fit is not None:
        from dudley.certificates.learners.module import ModuleLearner

        return ModuleLearner(make_model, fit, seed, warm)
    if hasattr(make_model, "fit") and hasattr(make_model, "predict"):
        from dudley.certificates.learners.estimator import EstimatorLearner

        return EstimatorLearner(make_model, data.classes, seed)
    got = type(make_model).__name__
    raise InputError("make_model", "a factory with fit, an estimator or a Learner", got)


def expect_data(data: Data) -> Dataset:
    """The sample, from a data set, a file or arrays."""
    if isinstance(data, tuple):
        data = (np.asarray(data[0]), np.asarray(data[1]))
    sample = examples(data)
    if sample is None:
        raise InputError("data", "a Dataset, a file, or arrays (X, y)", "none")
    return sample


def _plain(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Declarations as a table: one number of rounds or picks is a list of one."""
    table = dict(declared)
    for name in ("rounds", "batches"):
        if isinstance(table.get(name), int):
            table[name] = (table[name],)
    return table


def _digest(declared: PickDeclared, data: Dataset) -> str:
    text = json.dumps([to_json(declared), data.sha256], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()

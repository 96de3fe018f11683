"""Certify a model around a start: ``du.certify_around(make_model, fit, data, method="occam")``.

The start is what ``make_model`` builds under a seed, a checkpoint say. With ``initial`` examples it
is what ``fit`` makes of it on a share of the sample, and the bound counts the others. Then

* ``occam``: a short code word for the difference is trained on the counted examples
  (`fit.around_code`), and the model that the word decodes to is certified
  (`methods.occam_around.method`);
* ``pac-bayes``: a Gaussian around the start is moved and narrowed (`fit.around_posterior`), and the
  randomised predictor is certified (`methods.pac_bayes_around.method`).

>>> from dudley.core.backend import torch
>>> def fit(model, X, y):
...     optimiser = torch.optim.Adam(model.parameters(), 0.1)
...     for _ in range(40):
...         loss = torch.nn.functional.cross_entropy(model(torch.tensor(X)), torch.tensor(y))
...         optimiser.zero_grad(); loss.backward(); optimiser.step()
>>> X = np.random.default_rng(0).standard_normal((2000, 2), dtype=np.float32)
>>> data = X, (X[:, 0] > 0) * 1
>>> plan = {"initial": 200, "training": WordTraining(D=10, L=3, steps=60)}
>>> result = certify_around(lambda: torch.nn.Linear(2, 2), fit, data, seed=0, **plan)
>>> result.certificate.facts.counted, result.certificate.value < 0.05
(1800, True)
>>> verify_around(result.certificate.to_json(), result.start, data).holds
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.around.coded import CodedAround
from dudley.certificates.around.declared import AroundDeclared
from dudley.certificates.around.posterior import AroundPosterior
from dudley.certificates.around.start import ModuleStart
from dudley.certificates.beside import SHARES, HoldOutBeside, hold_out_beside
from dudley.certificates.certificate import Certificate
from dudley.certificates.certify import Data, examples
from dudley.certificates.data import Dataset
from dudley.certificates.fit.around_code import WordTraining, fit_words
from dudley.certificates.fit.around_posterior import (
    AroundPosteriorTraining,
    fit_around,
    tolerances,
)
from dudley.certificates.learners.base import Learner
from dudley.certificates.learners.module import ModuleLearner
from dudley.certificates.learners.module_predictor import ModulePredictor
from dudley.certificates.methods.occam_around.method import OccamAround, space_of
from dudley.certificates.methods.pac_bayes_around.method import PacBayesAround
from dudley.certificates.order import declared_seed
from dudley.certificates.shares import joined, split_share
from dudley.certificates.verify import Verification, expect_shape, verify
from dudley.core.errors import InputError
from dudley.core.shown import Shown
from dudley.core.watch import Watch

METHODS_AROUND = {"occam": OccamAround, "pac-bayes": PacBayesAround}


@dataclass(frozen=True, eq=False)
class CertifiedAround(Shown):
    """The model or the posterior, its certificate, and the start that both are told from.

    ``learner`` made the start; there is none where a start was given.
    """

    model: CodedAround | AroundPosterior
    certificate: Certificate
    start: ModuleStart
    learner: Learner | None = None
    shown_as: ClassVar[str] = "certified"

    def beside(
        self,
        data: Data,
        shares: Sequence[float] = SHARES,
        say: Callable[[str], None] | None = None,
    ) -> HoldOutBeside:
        """The hold-out that the same examples would have bought (`dudley.certificates.beside`).

        ``fit`` trains on the first part of each split in the ordinary way.
        """
        declared: AroundDeclared = self.certificate.declared
        if self.learner is None:
            fix = "certify with a factory and a fit, or use dudley.certificates.beside"
            raise InputError("hold-out beside", "a training to run on a part", "a start", fix)
        return hold_out_beside(
            self.learner,
            _expect_data(data),
            delta=declared.delta,
            seed=declared.seed,
            shares=shares,
            pool=getattr(declared, "pool", None),
            say=say,
            population=declared.population,
            among=declared.among,
            repeats=declared.repeats,
        )


def certify_around(
    make_model: Callable[[], Any] | Learner | ModuleStart,
    fit: Callable[..., Any] | None = None,
    data: Data = None,
    *,
    method: str = "occam",
    seed: int | None = None,
    device: str = "cpu",
    batch: int = 256,
    training: WordTraining | tuple[WordTraining, ...] | AroundPosteriorTraining | None = None,
    fine_tune: bool = False,
    watch: Watch | None = None,
    **declared: Any,
) -> CertifiedAround:
    """Train around a start and certify what comes out.

    ``make_model`` and ``fit(model, X, y)`` are those of `learners.module`; any `Learner` of torch
    modules may stand in their place, or a `ModuleStart` that was made before (of the very share
    that is declared, if one is). ``training`` says how the word or the posterior is trained;
    several words may be tried. Without a ``seed`` one is drawn. With ``fine_tune`` a posterior is
    also tried around what ``fit`` makes of the start on all examples. ``declared`` has the fields
    of `OccamAroundDeclared` or `PacBayesAroundDeclared`: delta, initial, parts, tolerance, …. A
    watch tells how far it is, and its seconds bound each training: what does not fit is left out.
    """
    if method not in METHODS_AROUND:
        raise InputError("method", " or ".join(METHODS_AROUND), method)
    unit, watch, seed = METHODS_AROUND[method](), watch or Watch(), declared_seed(seed)
    sample = _expect_data(data)
    first = unit.read_declared({**_plain(declared), "seed": seed, "start": ""})
    share, rest = split_share(sample, first.initial, seed)
    learner = _learner(make_model, fit, seed, batch, device)
    start = _start(make_model, learner, share, watch)
    whole = unit.read_declared(
        {**_plain(declared), "seed": seed, "start": "" if share else start.sha256}
    )
    if isinstance(unit, OccamAround):
        plans = _word_plans(training or WordTraining(part=whole.parts[0]), whole.parts)
        model = fit_words(space_of(start, whole), rest, plans, whole.delta, whole.tolerance, watch)
        return CertifiedAround(model, unit.made(model, sample, whole), start, learner)
    plan = training or AroundPosteriorTraining(part=whole.parts[0])
    plan = _posterior_plan(plan, whole.parts)
    measured = None
    if whole.relative == "share":
        assert share is not None
        measured = tolerances(start, share, plan, whole.tolerance, watch)
    X, y = joined(share, rest)
    tuned = _fine_tuned(learner, start, X, y, watch) if fine_tune else None
    Q = fit_around(
        start,
        (X, y),
        rest,
        plan,
        whole.scale,
        whole.relative,
        measured,
        tuned,
        whole.tolerance,
        whole.delta,
        watch,
    )
    watch.begin("draws of the posterior")
    return CertifiedAround(Q, unit.made(Q, sample, whole), start, learner)


def verify_around(
    certificate: Mapping[str, Any],
    start: ModuleStart | ModulePredictor,
    data: Data,
    posterior: AroundPosterior | None = None,
) -> Verification:
    """Verify a certificate around a start: decode its word, count again, recompute every field.

    A posterior is not in its certificate; it comes from its file (`around.posterior.load`).
    """
    file, sample = expect_shape(dict(certificate)), _expect_data(data)
    start = start if isinstance(start, ModuleStart) else ModuleStart(start)
    if file.get("method") == PacBayesAround.name:
        if posterior is None:
            fix = "read it by dudley.certificates.around.posterior.load(path, start)"
            raise InputError("posterior", "the posterior of this certificate", "none", fix)
        return verify(file, posterior, sample)
    if file.get("method") != OccamAround.name:
        expected = f"one of {OccamAround.name} or {PacBayesAround.name}"
        raise InputError("certificate", expected, file.get("method"))
    return verify(file, start, sample)


def _word_plans(training: Any, parts: tuple[str, ...]) -> tuple[WordTraining, ...]:
    plans = training if isinstance(training, tuple) else (training,)
    for plan in plans:
        if not isinstance(plan, WordTraining):
            raise InputError("training of words", "WordTraining", type(plan).__name__)
        _expect_part(plan.part, parts)
    return plans


def _posterior_plan(training: Any, parts: tuple[str, ...]) -> AroundPosteriorTraining:
    if not isinstance(training, AroundPosteriorTraining):
        expected = "AroundPosteriorTraining"
        raise InputError("training of a posterior", expected, type(training).__name__)
    _expect_part(training.part, parts)
    return training


def _expect_part(part: str, parts: tuple[str, ...]) -> None:
    if part not in parts:
        raise InputError("part that moves", f"one of the declared parts, {list(parts)}", part)


def _start(
    make_model: Any, learner: Learner | None, share: Dataset | None, watch: Watch
) -> ModuleStart:
    if isinstance(make_model, ModuleStart):
        return make_model
    assert learner is not None
    watch.begin("start")
    if share is not None:
        watch.say(f"ordinary training on {share.n:,} examples")
    made = learner.start() if share is None else learner.prepare(share.X, share.y)
    return ModuleStart(_expect_module(made))


def _fine_tuned(
    learner: Learner | None, start: ModuleStart, X: np.ndarray, y: np.ndarray, watch: Watch
) -> ModulePredictor:
    if learner is None:
        raise InputError("fine_tune", "a factory and a fit, or a learner", "a start alone")
    watch.begin("fine-tuning on all examples")
    return _expect_module(learner.train(X, y, 1, start.predictor))


def _learner(
    make_model: Any, fit: Callable[..., Any] | None, seed: int, batch: int, device: str
) -> Learner | None:
    if isinstance(make_model, ModuleStart):
        return None
    if isinstance(make_model, Learner):
        return make_model
    if not callable(make_model):
        expected = "a factory of a torch module, a learner, or a ModuleStart"
        raise InputError("make_model", expected, type(make_model).__name__)
    factory: Callable[[], Any] = make_model
    return ModuleLearner(factory, fit or _no_fit, seed, False, batch, device)


def _no_fit(model: Any, X: np.ndarray, y: np.ndarray) -> None:
    fix = "give fit(model, X, y), or start from a checkpoint with initial=0"
    raise InputError("fit", "a function that trains on the share", "none", fix)


def _expect_module(predictor: Any) -> ModulePredictor:
    if not isinstance(predictor, ModulePredictor):
        raise InputError("start", "a torch module", type(predictor).__name__)
    return predictor


def _expect_data(data: Data) -> Dataset:
    sample = examples(data)
    if sample is None:
        raise InputError("data", "a data set, a file, or arrays (X, y)", "none")
    return sample


def _plain(declared: Mapping[str, Any]) -> dict[str, Any]:
    """A single text or number may stand for a list of one."""
    lists = ("parts", "dimensions", "levels", "forms")
    return {
        name: [value] if name in lists and isinstance(value, int | str) else value
        for name, value in declared.items()
    }

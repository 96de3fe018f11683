"""All rows of one model."""

from __future__ import annotations

import math
from typing import Any

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.base import CertifiedModel
from dudley.certificates.certificate import baseline
from dudley.certificates.data import Dataset
from dudley.certificates.fit.posterior import PosteriorTraining
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.price import Bill
from dudley.certificates.standing.case import Readings
from dudley.certificates.standing.certificates import (
    PLAN,
    DeclaredByMethod,
    certificates,
    count_errors,
)
from dudley.certificates.standing.margins import TrainingMargins
from dudley.certificates.standing.published import about_networks, published_rows
from dudley.certificates.standing.reading import read_off
from dudley.certificates.standing.row import Standing
from dudley.core.errors import InputError
from dudley.core.watch import Watch
from dudley.theorems import registry


def standing(
    model: CertifiedModel,
    train: Dataset,
    test: Dataset | None = None,
    delta: float = 0.05,
    declared: DeclaredByMethod | None = None,
    plan: PosteriorTraining = PLAN,
    papers: tuple[str, ...] = (),
    watch: Watch | None = None,
) -> Standing:
    """Every certificate and every published bound on the error of a model.

    ``declared`` holds by method what else is fixed before the data; ``plan`` is that of the
    posterior of PAC-Bayes; ``papers`` narrows the published bounds. What the watch leaves out is a
    row that says so, or is named in the note of one.
    """
    watch = watch or Watch()
    about_networks(papers)  # refuses a paper that is not known
    if not isinstance(model, Hypothesis):
        raise InputError("model", "one model, whose weights have norms", type(model).__name__)
    guess = baseline(train, delta)["error_at_least"]
    training = TrainingMargins(model.margins(train), Bill(delta).delta, guess)
    rows = certificates(model, train, test, delta, guess, declared or {}, plan, watch)
    readings = _readings(model)
    rows += published_rows(readings, training, papers, watch)
    return Standing(tuple(rows), train.n, delta, guess, _measure(model, test, delta),
                    _facts(readings, training, papers))  # fmt: skip


def _readings(model: Hypothesis) -> Readings | str:
    """The model in the papers' words, or why it is none of their classes."""
    try:
        return read_off(model)
    except InputError as refusal:
        return str(refusal)


def _measure(model: Hypothesis, test: Dataset | None, delta: float) -> dict[str, Any]:
    """The error on the test set, and the upper end of its interval."""
    if test is None:
        return {}
    counts = count_errors(model, test)
    most = binomial_upper(counts["errors"], counts["n"], -math.log(delta))
    return counts | {"error": counts["errors"] / counts["n"], "at_most": most}


def _facts(
    readings: Readings | str, training: TrainingMargins, papers: tuple[str, ...]
) -> dict[str, Any]:
    """What the published rows were evaluated at, and the statements that have none."""
    about = [s.id for s in about_networks(papers)]
    every = [(id, s.paper) for id, s in registry.load().items()]
    others = [id for id, paper in every if id not in about and (not papers or paper in papers)]
    facts: dict[str, Any] = {"papers": list(papers), "not_about_networks": sorted(others)}
    facts |= {
        "margin": training.γ[0],
        "margin_nats": training.γ[1],
        "ramp": training.ramp(training.γ[0]),
    }
    if not isinstance(readings, str):
        facts["values"] = {name: dict(one.values) for name, one in readings.items()}
    return facts

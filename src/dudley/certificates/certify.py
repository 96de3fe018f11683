"""Certify a model in one call: ``du.certify("model.safetensors", train="train.npz").best``.

>>> import dudley as du
>>> from dudley.networks.files import EXAMPLES
>>> folder = EXAMPLES / "sparse-and"
>>> ranking = du.certify(folder / "model.safetensors", train=folder / "train.npz")
>>> ranking.best.method, round(ranking.best.value, 4), ranking.best.vacuous
('occam', 0.0135, False)
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.auto import Ranking, best_of, with_hold_out
from dudley.certificates.base import CertifiedModel
from dudley.certificates.data import Dataset, read
from dudley.certificates.files import load
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.predictor import Predictor
from dudley.core.errors import InputError
from dudley.core.watch import Watch

AUTO = "auto"
Data = Dataset | str | Path | tuple[np.ndarray, np.ndarray] | None


def certify(
    model: CertifiedModel | str | Path,
    train: Data = None,
    holdout: Data = None,
    method: str = AUTO,
    delta: float = 0.05,
    declared: Mapping[str, Mapping[str, Any]] | None = None,
    watch: Watch | None = None,
) -> Ranking:
    """Upper bounds on the error of a model, the least first (`dudley.certificates.auto.best_of`).

    ``method`` names one method, several with commas between them, or ``"auto"``: every method that
    the given data sets allow. ``declared`` holds by method what else is fixed before the data. A
    hold-out that is given stands beside the methods also where they do not name it.
    """
    model = load(model) if isinstance(model, str | Path) else model
    known, fresh = examples(train), examples(holdout)
    if method == AUTO:
        names = applicable(model, known, fresh)
    else:
        names = [name.strip() for name in method.split(",")]
    ranking = best_of(model, known, fresh, names, delta, declared, watch)
    return ranking if fresh is None else with_hold_out(ranking, model, known, fresh, delta)


def examples(source: Data) -> Dataset | None:
    """A data set from a file, from arrays X and y, or as it is."""
    if isinstance(source, str | Path):
        return read(source)
    return Dataset(*source) if isinstance(source, tuple) else source


def applicable(model: CertifiedModel, train: Any, holdout: Any) -> list[str]:
    """What ``auto`` stands for: a function of which data are given, not of what is in them."""
    if not isinstance(model, Predictor):
        return ["pac-bayes"]
    names = [] if holdout is None else ["hold-out"]
    if not isinstance(model, Hypothesis):
        if not names:
            fix = "or train it anew on the picks of this one: du.certify_training"
            raise InputError("data for a trained module", "a hold-out", "none", fix)
        return names
    names += [] if train is None else ["norm-cover", "occam"]
    if not names:
        raise InputError(
            "data", "a training set or a hold-out", "neither", "give --train or --holdout"
        )
    return names

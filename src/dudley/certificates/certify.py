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

from dudley.certificates.auto import Ranking, best_of
from dudley.certificates.base import CertifiedModel
from dudley.certificates.data import Dataset, read
from dudley.certificates.files import load
from dudley.certificates.hypothesis import Hypothesis
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
    the given data sets allow. ``declared`` holds by method what else is fixed before the data.
    """
    model = load(model) if isinstance(model, str | Path) else model
    sets = examples(train), examples(holdout)
    names = (
        applicable(model, *sets) if method == AUTO else [name.strip() for name in method.split(",")]
    )
    return best_of(model, *sets, names, delta, declared, watch)


def examples(source: Data) -> Dataset | None:
    """A data set from a file, from arrays X and y, or as it is."""
    if isinstance(source, str | Path):
        return read(source)
    return Dataset(*source) if isinstance(source, tuple) else source


def applicable(model: CertifiedModel, train: Any, holdout: Any) -> list[str]:
    """What ``auto`` stands for: a function of which data are given, not of what is in them."""
    if not isinstance(model, Hypothesis):
        return ["pac-bayes"]
    names = [] if holdout is None else ["hold-out"]
    names += [] if train is None else ["norm-cover", "occam"]
    if not names:
        raise InputError(
            "data", "a training set or a hold-out", "neither", "give --train or --holdout"
        )
    return names

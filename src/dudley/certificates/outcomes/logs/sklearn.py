"""scikit-learn: labels and predictions as its metrics take them.

``y_pred`` has classes, as ``predict`` returns them, or the probabilities or decision values of all
classes, n × classes, as ``predict_proba`` does, with ``classes`` in their order (``classes_`` of
the estimator). Weights of samples are refused: a weighted mean is the error in another population.

>>> outcomes_of_arrays(["a", "b", "b"], ["a", "b", "a"]).losses
array([0., 0., 1.])
>>> outcomes_of_arrays(["a", "b"], [[0.9, 0.1], [0.6, 0.4]], classes=["a", "b"]).losses
array([0., 1.])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dudley.certificates.outcomes.labels import LabelColumn
from dudley.certificates.outcomes.logs.huggingface import outcomes_of_predictions
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.core.errors import InputError


def outcomes_of_arrays(
    y_true: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None
) -> OutcomeTable:
    """The outcomes of ``y_true`` and ``y_pred``."""
    if sample_weight is not None:
        fix = "sample from the population that the number is to be about"
        raise InputError("sample_weight", "none: rows count alike", "weights", fix)
    y, predicted = np.asarray(y_true), np.asarray(y_pred)
    if y.ndim != 1:
        raise InputError("y_true", "a list of labels", f"shape {y.shape}")
    if predicted.ndim != 2:
        if predicted.shape != y.shape or predicted.dtype.kind == "f":
            got = f"{predicted.dtype} of shape {predicted.shape}"
            raise InputError("y_pred", f"{len(y):,} classes", got)
        return OutcomeTable(y=LabelColumn.of(y), prediction=LabelColumn.of(predicted))
    names = np.asarray(range(predicted.shape[1]) if classes is None else classes)
    if names.shape != predicted.shape[1:]:
        raise InputError("classes", f"{predicted.shape[1]} names", f"{len(names)}")
    places = {name: place for place, name in enumerate(names.tolist())}
    if not set(y.tolist()) <= set(places):
        odd = sorted(map(str, set(y.tolist()) - set(places)))[0]
        raise InputError("y_true", "labels that stand in classes", odd)
    return outcomes_of_predictions(predicted, [places[label] for label in y.tolist()])

"""Hugging Face: what ``Trainer.predict`` returns, or its arrays in a file.

``Trainer.predict`` returns ``predictions`` (logits, n × classes) and ``label_ids`` (n labels);
transformers 4 and 5 name them alike. Saved with ``np.savez(path, predictions=…, label_ids=…)``, or
as JSON lines with ``prediction`` (or ``predictions``) and ``label`` (or ``labels``, ``label_ids``),
they are read from a file. The prediction is the class with the largest logit; two that are largest
alike are an error, as everywhere here. The score is the lead of the largest over the second.

>>> table = outcomes_of_predictions(np.array([[0.0, 2.0], [1.0, 1.0]]), [1, 1])
>>> table.losses, table.score
(array([0., 1.]), array([2., 0.]))
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.outcomes.labels import LabelColumn
from dudley.certificates.outcomes.logs.base import LOGS
from dudley.certificates.outcomes.logs.lm_eval import samples
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.core.boundary import archives
from dudley.core.boundary.refusal import refusal
from dudley.core.errors import InputError

PREDICTIONS, LABELS = ("predictions", "prediction"), ("label_ids", "labels", "label")
IGNORED = -100  # the label of tokens that a loss leaves out


@LOGS.register("huggingface")
def huggingface_file(path: Path) -> OutcomeTable:
    """The outcomes of an .npz or of JSON lines."""
    if path.suffix == ".npz":
        columns: dict[str, Any] = dict(archives.arrays(path))
    else:
        rows = [sample for _, sample in samples(path)]
        columns = {name: [row.get(name) for row in rows] for name in rows[0]}
    known = (PREDICTIONS, LABELS)
    names = [next((name for name in each if name in columns), None) for each in known]
    if None in names:
        expected = "predictions and label_ids (or prediction and label)"
        raise refusal(path, expected, ", ".join(columns) or "none")
    predictions, labels = (columns[str(name)] for name in names)
    for name, column in zip(names, (predictions, labels), strict=True):
        if any(each is None for each in column):
            raise refusal(path, f"a value of {name} in every row", "none in some")
    return outcomes_of_predictions(predictions, labels)


def outcomes_of_predictions(predictions: Any, label_ids: Any = None) -> OutcomeTable:
    """The outcomes of logits or classes and labels, or of what ``Trainer.predict`` returned."""
    if label_ids is None and hasattr(predictions, "label_ids"):
        predictions, label_ids = predictions.predictions, predictions.label_ids
    try:
        logits, y = np.asarray(predictions), np.asarray(label_ids)
    except ValueError:  # rows of several lengths
        raise InputError("predictions", "logits n × classes, or n classes", "others") from None
    if y.ndim != 1 or logits.ndim not in (1, 2) or len(logits) != len(y) or not len(y):
        got = f"shapes {logits.shape} and {y.shape}"
        fix = "of tokens or spans, hand over one outcome for each independent example"
        raise InputError("predictions and label_ids", "n × classes, and n labels", got, fix)
    if y.dtype.kind in "iu" and (y == IGNORED).any():
        raise InputError("label_ids", "a label for every example", f"{IGNORED}, which is none")
    if logits.ndim == 1:
        return OutcomeTable(y=LabelColumn.of(y), prediction=LabelColumn.of(logits))
    if logits.dtype.kind not in "iuf" or not np.isfinite(logits).all() or logits.shape[1] < 2:
        raise InputError("predictions", "finite logits of at least two classes", logits.dtype)
    if y.dtype.kind not in "biu" or y.min() < 0 or y.max() >= logits.shape[1]:
        expected = f"whole numbers from 0 to {logits.shape[1] - 1}"
        raise InputError("label_ids", expected, f"{y.dtype} to {y.max()}")
    top = np.sort(logits.astype(np.float64), axis=1)
    lead = top[:, -1] - top[:, -2]
    return OutcomeTable(correct=(logits.argmax(1) == y) & (lead > 0), score=lead)

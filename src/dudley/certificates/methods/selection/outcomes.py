"""What the candidates predict: for n examples the labels y, and predictions in one of three forms.

``predictions``: classes (n, M), a column for every candidate. ``scores``: numbers (n, M/m) for two
classes, where the m entries of the list's last factor are thresholds: a score *above* the threshold
is class 1. ``prediction``: classes (n,) of the chosen candidate alone, which is all that a
certificate is computed from. Three files of the same selection have the same hash, which is that of
y and the chosen column, as a bag.

>>> listed = CandidateList((CandidateFactor("cut", ("0.2", "0.7")),))
>>> outcomes = Outcomes(np.array([0, 1, 1]), scores=np.array([[0.1], [0.5], [0.9]]))
>>> outcomes.errors(listed), outcomes.column(listed, 1)
(array([0, 1]), array([0, 0, 1]))
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dudley.certificates.data import Dataset
from dudley.certificates.methods.selection.candidates import CandidateFactor, CandidateList
from dudley.core.boundary import archives, limits
from dudley.core.errors import InputError
from dudley.core.files import written

NAMES = ("y", "prediction", "predictions", "scores", "group")
FORMS = ("prediction", "predictions", "scores")


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Labels and predictions; ``group``, if there, names the independent unit of each example."""

    y: np.ndarray
    prediction: np.ndarray | None = None
    predictions: np.ndarray | None = None
    scores: np.ndarray | None = None
    group: np.ndarray | None = None

    def __post_init__(self):
        forms = [name for name in FORMS if getattr(self, name) is not None]
        if len(forms) != 1:
            got = " and ".join(forms) or "none of them"
            raise InputError("outcomes", "prediction, predictions or scores", got)
        array = getattr(self, forms[0])
        shape = (len(self.y),) if forms == ["prediction"] else (len(self.y), "candidates")
        kinds = "f" if forms == ["scores"] else "bui"
        if array.ndim != len(shape) or len(array) != len(self.y) or array.dtype.kind not in kinds:
            words = "numbers" if kinds == "f" else "classes, integers"
            expected = f"{words} of shape ({', '.join(map(str, shape))})"
            raise InputError(forms[0], expected, f"{array.dtype} of shape {array.shape}")
        if kinds == "f" and not np.isfinite(array).all():
            raise InputError("scores", "finite numbers", "NaN or infinity")
        if kinds == "f" and self.y.max(initial=0) > 1:
            raise InputError("labels beside scores", "0 and 1", f"{self.y.max()}")
        Dataset(np.zeros((len(self.y), 1), np.int64), self.y, self.group)  # labels and units

    @property
    def n(self) -> int:
        return len(self.y)

    def errors(self, listed: CandidateList) -> np.ndarray:
        """The errors of every candidate on the n examples."""
        self._expect(listed)
        if self.scores is not None:
            cuts = thresholds(listed.factors[-1])
            return np.concatenate([_errors_at(s, self.y, cuts) for s in self.scores.T])
        if self.predictions is None:
            fix = "choose from an array of predictions (n, candidates)"
            raise InputError("choice", "predictions of every candidate", "those of one", fix)
        return np.array([int((column != self.y).sum()) for column in self.predictions.T])

    def column(self, listed: CandidateList, i: int) -> np.ndarray:
        """The predictions of candidate i."""
        self._expect(listed)
        listed.places(i)
        if self.prediction is not None:
            return self.prediction.astype(np.int64)
        if self.predictions is not None:
            return self.predictions[:, i].astype(np.int64)
        assert self.scores is not None
        cuts = thresholds(listed.factors[-1])
        return (self.scores[:, i // len(cuts)] > cuts[i % len(cuts)]).astype(np.int64)

    def of_chosen(self, listed: CandidateList, i: int) -> Outcomes:
        """The outcomes of candidate i alone."""
        return Outcomes(self.y, prediction=self.column(listed, i), group=self.group)

    def save(self, path: str | Path) -> None:
        """Write the file (.npz)."""
        arrays = {name: getattr(self, name) for name in NAMES}
        with written(Path(path)) as file:
            np.savez_compressed(file, **{k: v for k, v in arrays.items() if v is not None})

    def _expect(self, listed: CandidateList) -> None:
        if self.predictions is not None and self.predictions.shape[1] != listed.count:
            expected = f"{listed.count:,} columns, one a candidate"
            raise InputError("predictions", expected, self.predictions.shape[1])
        if self.scores is not None:
            columns = listed.count // len(listed.factors[-1].entries)
            if self.scores.shape[1] != columns:
                expected = f"{columns:,} columns, one for all thresholds of a candidate"
                raise InputError("scores", expected, self.scores.shape[1])


def thresholds(factor: CandidateFactor) -> np.ndarray:
    """The entries of a factor as numbers; texts that are none are refused."""
    try:
        cuts = np.array([float(text) for text in factor.entries])
    except ValueError as error:
        raise InputError(f"thresholds of {factor.name}", "numbers", error) from None
    if not np.isfinite(cuts).all():
        raise InputError(f"thresholds of {factor.name}", "finite numbers", "others")
    return cuts


def read_outcomes(path: str | Path) -> Outcomes:
    """The outcomes of a file (.npz)."""
    path = Path(path)
    if not path.is_file() or path.suffix != ".npz":
        raise InputError("outcomes", "a file .npz", path)
    arrays = archives.arrays(path, NAMES)
    if "y" not in arrays or arrays["y"].ndim != 1:
        raise InputError(path.name, "an array y, and predictions, prediction or scores", "others")
    if arrays["y"].size > limits.ROWS:
        raise InputError(path.name, f"at most {limits.ROWS:,} examples", arrays["y"].size)
    return Outcomes(**arrays)


def _errors_at(scores: np.ndarray, y: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """At each threshold: ones that are not above it, and zeros that are."""
    ones, zeros = np.sort(scores[y == 1]), np.sort(scores[y == 0])
    missed = np.searchsorted(ones, cuts, side="right")
    return missed + len(zeros) - np.searchsorted(zeros, cuts, side="right")

"""The table of outcomes: what a model gave for n examples, and whether it was right.

Every row has a loss in [0, 1]. It comes from labels and predictions (1 where they differ), from a
column that says what was correct, or from a column of losses. Beside it may stand a score, which is
the higher the surer the model is, labels of groups, the id of the unit that a row belongs to
(a document, a user, a patient), the time when it came, and the losses of others on the same
examples: an older model, or candidates. Arrays are copied and cannot be written to.

The hash is that of the columns by name, in the order of the rows, so a file and the arrays that it
holds have the same. No number depends on the order of rows.

>>> table = OutcomeTable(y=LabelColumn.of([0, 1, 1]), prediction=LabelColumn.of([0, 1, 0]))
>>> table.n, table.losses, table.binary
(3, array([0., 0., 1.]), True)
>>> OutcomeTable(loss=np.array([0.5, 2.0]))
Traceback (most recent call last):
dudley.core.errors.InputError: loss: expected numbers in [0, 1], got 2.0 in row 2
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from dudley.certificates.outcomes.labels import LabelColumn, number_or_word
from dudley.core.boundary import limits
from dudley.core.errors import InputError

FORMS = "y and prediction, or correct, or loss"


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """n rows; exactly one of y with prediction, correct, and loss says how good they are.

    ``correct`` is true or false, ``loss`` in [0, 1]; ``others`` are losses by the name of a column.
    """

    y: LabelColumn | None = None
    prediction: LabelColumn | None = None
    correct: np.ndarray | None = None
    loss: np.ndarray | None = None
    score: np.ndarray | None = None
    groups: Mapping[str, LabelColumn] = field(default_factory=dict)
    ids: np.ndarray | None = None
    time: np.ndarray | None = None
    others: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self):
        labelled = self.y is not None and self.prediction is not None
        forms = [labelled, self.correct is not None, self.loss is not None]
        if forms.count(True) != 1 or (self.prediction is not None and self.y is None):
            names = ("y", "prediction", "correct", "loss")
            got = ", ".join(name for name in names if getattr(self, name) is not None) or "none"
            raise InputError("columns of outcomes", FORMS, got)
        if self.y is not None and self.prediction is not None:
            expect_one_spelling(self.y, self.prediction)
        if self.correct is not None:
            self._freeze("correct", np.bool_)
        if self.loss is not None:
            self._freeze("loss", np.float64)
            expect_unit("loss", self.loss)
        if self.score is not None:
            self._freeze("score", np.float64)
            expect_finite("score", self.score)
        if self.time is not None:
            self._freeze("time", np.float64)
            expect_finite("time", self.time)
        if self.ids is not None:
            self._freeze("ids", None)
        others = {name: _frozen(np.asarray(z, np.float64)) for name, z in self.others.items()}
        for name, z in others.items():
            expect_unit(name, z)
            if self.binary and not np.isin(z, (0.0, 1.0)).all():
                raise InputError(name, "losses 0 or 1, as those of the model", "others between")
        object.__setattr__(self, "groups", MappingProxyType(dict(self.groups)))
        object.__setattr__(self, "others", MappingProxyType(others))
        self._expect_lengths()

    def _freeze(self, name: str, kind: type | None) -> None:
        object.__setattr__(self, name, _frozen(np.asarray(getattr(self, name), kind)))

    def _expect_lengths(self) -> None:
        lengths = {name: len(array) for name, array in self._columns()}
        if any(array.ndim != 1 for _, array in self._columns()) or len(set(lengths.values())) > 1:
            raise InputError("columns of outcomes", "lists of one length", lengths)
        if not 1 <= self.n <= limits.ROWS:
            raise InputError("outcomes", f"1 to {limits.ROWS:,} rows", f"{self.n:,}")

    def _columns(self):
        for name in ("y", "prediction"):
            if (column := getattr(self, name)) is not None:
                yield name, column.codes
        for name in ("correct", "loss", "score", "ids", "time"):
            if (column := getattr(self, name)) is not None:
                yield name, column
        for name, labels in self.groups.items():
            yield f"group {name}", labels.codes
        for name, z in self.others.items():
            yield f"other {name}", z

    @property
    def n(self) -> int:
        return len(next(self._columns())[1])

    @property
    def binary(self) -> bool:
        """Are the losses errors, by what was handed over and not by their values?"""
        return self.loss is None

    @cached_property
    def losses(self) -> np.ndarray:
        """The loss of every row, in [0, 1]; of errors 0 and 1."""
        if self.loss is not None:
            return self.loss
        if self.correct is not None:
            return _frozen(1.0 - self.correct)
        assert self.y is not None and self.prediction is not None
        return _frozen(losses_of_labels(self.y, self.prediction))

    @cached_property
    def sha256(self) -> str:
        """Of the columns: their names, labels, types and bytes."""
        whole = hashlib.sha256()
        for name, array in self._columns():
            plain = array.astype(array.dtype.newbyteorder("<"), copy=False)
            head = [name, plain.dtype.str, len(plain), *self._names_of(name)]
            whole.update(json.dumps(head).encode() + b"\n")
            whole.update(np.ascontiguousarray(plain).data)
        return whole.hexdigest()

    def _names_of(self, column: str) -> tuple[str, ...]:
        if column in ("y", "prediction"):
            labels = getattr(self, column)
        else:
            labels = self.groups.get(column.removeprefix("group "))
        return labels.names if labels is not None else ()


def losses_of_labels(y: LabelColumn, prediction: LabelColumn) -> np.ndarray:
    """1 where the labels differ, else 0."""
    places = {name: code for code, name in enumerate(y.names)}
    same = np.array([places.get(name, -1) for name in prediction.names], np.int32)
    if len(prediction.codes) != len(y.codes):
        raise InputError("prediction", f"{len(y.codes):,} of them", f"{len(prediction.codes):,}")
    return (same[prediction.codes] != y.codes).astype(np.float64)


def expect_unit(name: str, z: np.ndarray) -> None:
    """Refuse losses outside [0, 1]."""
    odd = np.flatnonzero(~((z >= 0) & (z <= 1)))
    if len(odd):
        raise InputError(name, "numbers in [0, 1]", f"{z[odd[0]]} in row {odd[0] + 1}")


def expect_finite(name: str, x: np.ndarray) -> None:
    """Refuse NaN and infinity."""
    odd = np.flatnonzero(~np.isfinite(x))
    if len(odd):
        raise InputError(name, "finite numbers", f"{x[odd[0]]} in row {odd[0] + 1}")


def expect_one_spelling(y: LabelColumn, prediction: LabelColumn) -> None:
    """Refuse labels that differ as texts and are equal as numbers, or but for spaces.

    Two columns of which one has "Yes" or "1", and only the other one "yes" or "true", are refused,
    too: a model that is right would count as wrong.
    """
    spelled: dict[object, str] = {}
    for name in sorted({*y.names, *prediction.names}):
        if (first := spelled.setdefault(number_or_word(name), name)) != name:
            raise _two_spellings(first, name)
    alone = set(y.names) ^ set(prediction.names)
    words = {_loosely(name): name for name in y.names if name in alone}
    for name in prediction.names:
        if name in alone and (other := words.get(_loosely(name))) is not None:
            raise _two_spellings(other, name)


def _two_spellings(first: str, second: str) -> InputError:
    fix = "write them alike, or say in a column correct what is right"
    return InputError("labels", "each written in one way", f"{first!r} and {second!r}", fix)


def _loosely(name: str) -> str:
    """The label without its case; of true and false 1 and 0."""
    word = unicodedata.normalize("NFKC", name).strip().casefold()
    return {"true": "1", "false": "0"}.get(word, word)


def _frozen(array: np.ndarray) -> np.ndarray:
    if not array.flags.writeable and array.base is None:
        return array
    array = array.copy()
    array.flags.writeable = False
    return array

"""Certify a choice: ``du.certify_selection(candidates, predictions, y)`` for a declared list.

``candidates`` is a `CandidateList`, or names of equal weight; ``predictions`` holds the class that
each of them gives each example, (n, candidates), or real ``scores`` where the list ends with a
factor of thresholds. Callables or predictors are run on ``X`` in place of an array.

>>> y = np.arange(300) % 3
>>> result = certify_selection(["first", "second"], np.stack([y, 0 * y], axis=1), y)
>>> result.entry, result.certificate.facts.errors, round(result.certificate.value, 4)
(('first',), 0, 0.0122)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dudley.certificates.base import expect_different
from dudley.certificates.beside import SHARES
from dudley.certificates.certificate import Certificate
from dudley.certificates.choice_beside import ChoiceBeside, choice_beside
from dudley.certificates.copies import expect_chance
from dudley.certificates.data import Dataset
from dudley.certificates.methods.selection.candidates import CandidateList, plain_list
from dudley.certificates.methods.selection.method import Selection
from dudley.certificates.methods.selection.outcomes import Outcomes
from dudley.certificates.predictor import Predictor
from dudley.certificates.single import expect_single
from dudley.core.errors import InputError
from dudley.core.files import written
from dudley.core.shown import Shown

LIST, OUTCOMES, CERTIFICATE = "candidates.json", "outcomes.npz", "certificate.json"


@dataclass(frozen=True, eq=False)
class CertifiedSelection(Shown):
    """The number and the name of the chosen candidate, its certificate, and what it was made of."""

    certificate: Certificate
    candidates: CandidateList
    outcomes: Outcomes
    shown_as: ClassVar[str] = "certified"

    @property
    def index(self) -> int:
        return self.certificate.choices.candidate

    @property
    def entry(self) -> tuple[str, ...]:
        return self.candidates.entry(self.index)

    def beside(self, shares: Sequence[float] = SHARES, seed: int | None = None) -> ChoiceBeside:
        """What choosing on a part and testing on the rest would have given (`choice_beside`)."""
        declared = self.certificate.declared
        return choice_beside(self.candidates, self.outcomes, declared, shares, seed)

    def save(self, folder: str | Path) -> None:
        """Write the list, the predictions of the chosen candidate and the certificate."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        names = LIST, OUTCOMES, CERTIFICATE
        with contextlib.ExitStack() as whole:  # all three, or none of them
            parts = (whole.enter_context(written(folder / name)) for name in names)
            listed, data, file = parts
            self.candidates.save(listed)
            self.outcomes.of_chosen(self.candidates, self.index).save(data)
            file.write_text(self.certificate.text(), encoding="utf-8")


def certify_selection(
    candidates: CandidateList | Sequence[str],
    predictions: np.ndarray | Sequence[Callable[[np.ndarray], Any] | Predictor],
    y: np.ndarray,
    X: np.ndarray | None = None,
    group: np.ndarray | None = None,
    **declared: Any,
) -> CertifiedSelection:
    """Choose the candidate with the smallest bound, and certify it.

    The list counts as declared before the data. ``declared`` has the other fields of
    `SelectionDeclared`: delta, population, among, repeats.
    """
    listed = candidates if isinstance(candidates, CandidateList) else plain_list(tuple(candidates))
    y, method = np.asarray(y), Selection()
    whole = method.read_declared({**declared, "candidates": listed.sha256})
    if X is not None:
        examples = Dataset(np.asarray(X), y, group)
        expect_different(examples, whole)
        expect_chance(examples.counts)
    if isinstance(predictions, np.ndarray):
        array = predictions
    elif X is None:
        raise InputError("X", "the examples on which the candidates are run", "none")
    else:
        array = np.stack([_classes(unit, np.asarray(X)) for unit in predictions], axis=1)
    form = "scores" if array.dtype.kind == "f" else "predictions"
    outcomes = Outcomes(y, group=group, **{form: array})
    return CertifiedSelection(method.made(listed, outcomes, whole), listed, outcomes)


def _classes(unit: Callable[[np.ndarray], Any] | Predictor, X: np.ndarray) -> np.ndarray:
    """The classes that a candidate gives the examples; a tie of logits is no class, so an error."""
    if not isinstance(unit, Predictor):
        return np.asarray(unit(X))
    expect_single(unit.outputs, X)
    f = unit.outputs(X)
    if f.shape[1] == 1:
        f = np.hstack([-f, f])
    top = f.max(axis=1, keepdims=True)
    clear = (f == top).sum(axis=1) == 1
    return np.where(clear, f.argmax(axis=1), np.iinfo(np.int64).max)

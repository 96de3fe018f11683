"""An assertion for tests of models: the error is below a level, proved from outcomes.

**Claim.** If the rows are independent draws and the error of the model in their population is above
the level, the assertion passes with probability at most δ. It is the upper bound at δ of
`certificates.outcomes` that is compared, so a pass is a proof and a failure is none: the message
says whether the error is too large, or the data too few and how many more would do.

A level that is tested after each change of the model on the same rows is tested many times: take
δ/k where it is done k times, or fresh rows.

>>> assert_error_below(0.02, correct=[True] * 300).text
'error at most 0.009937 (0 of 300, δ = 0.05)'
>>> assert_error_below(0.02, correct=[True] * 100)
Traceback (most recent call last):
AssertionError: that the error is below 0.02 is not proved (0 of 100, at most 0.02952, δ = 0.05):
too few outcomes; about 49 more with the same share of errors would do
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.certificates.outcomes.logs.sklearn import outcomes_of_arrays
from dudley.certificates.outcomes.question import LossQuestion
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.certificates.outcomes.verdict import PROVED, TOO_FEW, verdict_of
from dudley.core.errors import InputError
from dudley.core.rounding import ceiling, up

FORMS = "a table of outcomes, or y= and prediction=, correct=, loss="


@dataclass(frozen=True)
class ProvedError:
    """What a passing assertion has proved, or a failing one has not."""

    upper: float
    seen: str
    delta: float

    @property
    def text(self) -> str:
        return f"error at most {ceiling(self.upper)} ({self.seen}, δ = {self.delta})"


def assert_error_below(
    level: float,
    outcomes: OutcomeTable | None = None,
    *,
    y: Any = None,
    prediction: Any = None,
    correct: Any = None,
    loss: Any = None,
    delta: float = 0.05,
) -> ProvedError:
    """Pass if the error is proved to be at most the level; else raise an AssertionError."""
    __tracebackhide__ = True
    for name, value in (("level", level), ("delta", delta)):
        if not 0 < value < 1:
            raise InputError(name, "a number in (0, 1)", value)
    table = _table(outcomes, y, prediction, correct, loss)
    if table.ids is not None and len(np.unique(table.ids)) < table.n:
        fix = "certify by units (du.outcomes), or hand over one outcome for each"
        raise InputError("outcomes", "rows that are independent draws", "ids that repeat", fix)
    question = LossQuestion(table.losses, table.binary, float(up(-math.log(delta))))
    verdict = verdict_of(question, level)
    total = math.fsum(table.losses.tolist())
    proved = ProvedError(question.upper(), f"{total:g} of {table.n:,}", delta)
    if verdict.word == PROVED:
        return proved
    first = f"that the error is below {level} is not proved ({proved.seen}, at most "
    first += f"{ceiling(proved.upper)}, δ = {delta}): "
    if verdict.word == TOO_FEW:
        more = "more than anyone has" if verdict.more is None else f"about {verdict.more:,} more"
        reason = f"too few outcomes; {more} with the same share of errors would do"
    else:
        reason = "the error is too large: the observed mean is not below the level"
    raise AssertionError(first + reason)


def _table(outcomes: Any, y: Any, prediction: Any, correct: Any, loss: Any) -> OutcomeTable:
    """The table that was handed over, or that of the arrays."""
    pair = y is not None and prediction is not None
    forms = [outcomes is not None, pair, correct is not None, loss is not None]
    if forms.count(True) != 1:
        raise InputError("outcomes", FORMS, f"{forms.count(True)} of them")
    if outcomes is not None:
        if not isinstance(outcomes, OutcomeTable):
            raise InputError("outcomes", FORMS, type(outcomes).__name__)
        return outcomes
    if pair:
        return outcomes_of_arrays(y, prediction)
    if loss is not None:
        return OutcomeTable(loss=np.asarray(loss, np.float64))
    truths = np.asarray(correct)
    if truths.dtype != np.bool_ and not np.isin(truths, (0, 1)).all():
        raise InputError("correct", "true or false, 1 or 0", "other values")
    return OutcomeTable(correct=truths.astype(np.bool_))

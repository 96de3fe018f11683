"""Selection as a method: the candidate with the smallest bound, and its price (the package has the
claim and the proof).

The model is the declared list (`candidates`), the data are predictions (`outcomes`). To choose, the
predictions of all candidates are needed; to verify, those of the chosen one. A candidate of many
errors and a high price can never win, so bounds are computed only along the front of those that no
other candidate beats in both.

>>> from dudley.certificates.base import METHODS
>>> from dudley.certificates.methods.selection.candidates import plain_list
>>> listed, y = plain_list(["yes", "no", "maybe"]), np.arange(400) % 2
>>> outcomes = Outcomes(y, predictions=np.stack([1 - y, 0 * y, y], axis=1))
>>> certificate = METHODS["selection"](listed, outcomes, candidates=listed.sha256)
>>> certificate.facts.chosen, certificate.facts.errors, round(certificate.value, 4)
({'candidate': 'maybe'}, 0, 0.0102)
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.base import Method, method
from dudley.certificates.certificate import ASSUMED, Certificate, baseline
from dudley.certificates.data import Dataset
from dudley.certificates.methods.selection.candidates import CandidateList, read_list
from dudley.certificates.methods.selection.declared import (
    SelectionChoices,
    SelectionDeclared,
    SelectionFacts,
)
from dudley.certificates.methods.selection.outcomes import Outcomes, read_outcomes
from dudley.certificates.price import Bill, Price, one_of
from dudley.core.errors import InputError

FIXED = (
    "every candidate, with its threshold and its price, was fixed before the data, and none was "
    "trained or tuned on them",
    "the predictions are those of the candidates as the list names them",
    "no example comes twice: predictions do not show it",
)


@method
class Selection(Method[SelectionDeclared, SelectionChoices]):
    """The binomial tail at δ·w_i for the chosen candidate i of a declared list."""

    name = "selection"
    declares = SelectionDeclared
    chooses = SelectionChoices

    def read_model(self, path: str | Path) -> CandidateList:
        """The list of candidates of a file."""
        return read_list(path)

    def read_data(self, path: str | Path) -> Outcomes:
        """The predictions of a file."""
        return read_outcomes(path)

    def expect(self, model: Any) -> None:
        """Refuse anything but a list of candidates."""
        if not isinstance(model, CandidateList):
            fix = "du.certify_selection takes candidates and their predictions"
            raise InputError(
                "model for selection", "a list of candidates", type(model).__name__, fix
            )

    def expect_independent(self, model: Any, data: Any, declared: SelectionDeclared) -> None:
        """Refuse what is no outcomes, and a list that is not the declared one."""
        if not isinstance(data, Outcomes):
            raise InputError("data for selection", "outcomes", type(data).__name__)
        if declared.candidates != model.sha256:
            expected = f"the hash of this list, {model.sha256[:16]}…"
            got = declared.candidates or "none"
            fix = "declare the hash of the list before the data are seen"
            raise InputError("candidates", expected, got, fix)

    def choose(
        self, model: CandidateList, data: Outcomes, declared: SelectionDeclared
    ) -> SelectionChoices:
        """The candidate with the smallest bound."""
        errors, nats = data.errors(model), model.all_nats
        bill = _bill(declared)
        front = _front(errors, nats)
        bounds = [
            binomial_upper(int(errors[i]), data.n, bill.log_confidence + float(nats[i]))
            for i in front
        ]
        return SelectionChoices(int(front[int(np.argmin(bounds))]))

    def certify(
        self,
        model: CandidateList,
        data: Outcomes,
        declared: SelectionDeclared,
        choices: SelectionChoices,
    ) -> Certificate[SelectionDeclared, SelectionChoices, SelectionFacts]:
        """The certificate."""
        i = choices.candidate
        chosen = Dataset(data.column(model, i)[:, None], data.y, data.group)
        errors = int((chosen.X[:, 0] != chosen.y).sum())
        names = dict(zip((f.name for f in model.factors), model.entry(i), strict=True))
        price = Price("candidate", model.nats(i), f"number {i} of {model.count:,}")
        bill = _bill(declared, price)
        facts = SelectionFacts(
            n=data.n,
            errors=errors,
            train_error=errors / data.n,
            candidates=model.count,
            chosen=names,
            price_bits=price.nats / math.log(2),
        )
        sources = tuple(f"prices of {f.name}: {f.source}" for f in model.factors if f.source)
        return Certificate(
            method=self.name,
            value=binomial_upper(errors, data.n, bill.log_confidence),
            bill=bill,
            declared=declared,
            choices=choices,
            facts=facts,
            model=model.facts(),
            data={"sha256": chosen.sha256, "n": data.n, "classes": chosen.classes},
            baseline=baseline(chosen, declared.delta),
            declarations=ASSUMED + FIXED + sources,
            advice=_advice(errors, data.n, bill, price),
        )


def _bill(declared: SelectionDeclared, *prices: Price) -> Bill:
    among = (one_of("method", declared.among),) if declared.among > 1 else ()
    return Bill(declared.delta, (*prices, *among))


def _front(errors: np.ndarray, nats: np.ndarray) -> np.ndarray:
    """The candidates that no other beats in errors and price; of equal ones the first."""
    order = np.lexsort((np.arange(len(nats)), errors, nats))
    least = np.minimum.accumulate(errors[order])
    first = np.r_[True, least[1:] < least[:-1]]
    return order[first]


def _advice(errors: int, n: int, bill: Bill, price: Price) -> tuple[str, ...]:
    """What would lower the number, each computed."""
    c = bill.log_confidence
    gains = {
        "twice the examples, the same share of errors": binomial_upper(2 * errors, 2 * n, c),
        "a list of this candidate alone": binomial_upper(errors, n, c - price.nats),
    }
    if errors:
        gains["no errors, at this price"] = binomial_upper(0, n, c)
    lines = [f"{what}: {value:.3g}" for what, value in sorted(gains.items(), key=lambda x: x[1])]
    bits = price.nats / math.log(2)
    return (f"{errors} errors of {n}, {bits:.3g} bits: {binomial_upper(errors, n, c):.3g}", *lines)

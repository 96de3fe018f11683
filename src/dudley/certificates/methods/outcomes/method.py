"""A certificate of anything, from its outcomes: the questions that were declared, all at once.

A table of n independent rows says of each what the model lost there (`dudley.certificates.outcomes.
table`). Declared beforehand, besides the columns:

    two_sided       a lower end as well
    columns.groups  slices: a bound for each label; slices_below, a level, tests them by Holm's rule
    answered_below  r: the lowest of declared thresholds on the score with P[error | answered] ≤ r
    columns.time    rows came in this order: a bound that holds whatever changed meanwhile
    columns.old     another model on the same rows: a bound on the difference; margin, a level of it
    below           a level of the risk itself, for a verdict
    columns.unit    rows of one unit depend on each other: units count, in the declared unit_way
    among           how many models, prompts, checkpoints or metrics were compared on these rows
    columns.candidates  the columns of k models, of which the one with the fewest errors is taken

**Claim.** With probability at least 1 − δ every number of the certificate is true. **Proof.** δ is
split evenly over the parts (`OutcomesDeclared.parts`), so each costs ln(parts). Whatever was chosen
after a look at the rows pays for all that could have been chosen: ln(among), and ln(k) for
candidates (`dudley.certificates.methods.selection`), in every part. For one fixed model each part
fails with probability at most its share of δ, by the proofs in `dudley.certificates.outcomes`: the
mean (`mean`, `question`), `slices`, `stepdown`, `abstention`, `over_time`, `difference`, `units`,
`verdict`. The
union bound over parts and models does the rest. ∎

Nothing is known of the model but its outcomes, so the hash of the table stands for it, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dudley.calculus.inversion import binomial_lower
from dudley.certificates.base import Method, method
from dudley.certificates.certificate import ASSUMED, RISK, Certificate
from dudley.certificates.copies import expect_chance
from dudley.certificates.methods.outcomes.answers import answers, question_of
from dudley.certificates.methods.outcomes.declared import (
    OutcomesChoices,
    OutcomesDeclared,
    OutcomesFacts,
)
from dudley.certificates.outcomes.question import LossQuestion
from dudley.certificates.outcomes.reader import OutcomeFile
from dudley.certificates.outcomes.table import OutcomeTable
from dudley.certificates.price import Bill, one_of
from dudley.core.errors import InputError

UNITS = "say that ids are those of units (--unit), which then count as one draw each"


@method
class OutcomesMethod(Method[OutcomesDeclared, OutcomesChoices]):
    """Exact bounds from a table of outcomes."""

    name = "outcomes"
    declares = OutcomesDeclared
    chooses = OutcomesChoices

    def read_model(self, path: str | Path | None) -> None:
        """There is no model but its outcomes."""
        if path is not None:
            fix = "leave --model out"
            raise InputError("model", "none: a certificate of outcomes has their table", path, fix)

    def read_data(self, path: str | Path) -> OutcomeFile:
        """The table of a file, which is read once its columns are known."""
        return OutcomeFile(Path(path))

    def expect(self, model: Any) -> None:
        """Refuse a model."""
        if model is not None:
            raise InputError("model for outcomes", "none", type(model).__name__)

    def expect_independent(self, model: Any, data: Any, declared: OutcomesDeclared) -> None:
        """Refuse what is no table or has not the declared columns, and ids like those of epochs."""
        if not isinstance(data, OutcomeTable):
            raise InputError("data for outcomes", "a table of them", type(data).__name__)
        at = declared.columns
        there = {
            "columns of groups": (set(at.groups), set(data.groups)),
            "columns of other models": (set(at.beside), set(data.others)),
        }
        for what, (expected, got) in there.items():
            if expected != got:
                raise InputError(what, ", ".join(sorted(expected)) or "none", sorted(got))
        if at.unit and data.ids is None:
            raise InputError("units", "the id of the unit of every row", "none")
        if data.ids is not None and not at.unit:
            expect_chance(counts_of(data.ids), "rows, by their ids", fix=UNITS)
        if declared.answered_below is not None and data.score is None:
            raise InputError("answered_below", "a score for every row", "none", "name its column")

    def remade(
        self,
        model: Any,
        data: Any,
        declared: OutcomesDeclared,
        choices: OutcomesChoices,
        facts: Mapping[str, Any],
    ) -> tuple[Certificate[OutcomesDeclared, OutcomesChoices, Any], tuple[str, ...]]:
        """The certificate of the table in a file."""
        if isinstance(data, OutcomeFile):
            log = declared.log
            data = data.read_log(log) if log else data.read(declared.columns)[0]
        return self.made(model, data, declared, choices), ()

    def choose(self, model: Any, data: OutcomeTable, declared: OutcomesDeclared) -> OutcomesChoices:
        """The candidate with the least mean loss; the first in the declared order of several."""
        if not declared.columns.candidates:
            return OutcomesChoices()
        means = {name: data.others[name].mean() for name in declared.columns.candidates}
        return OutcomesChoices(min(means, key=lambda name: means[name]))

    def certify(
        self, model: Any, data: OutcomeTable, declared: OutcomesDeclared, choices: OutcomesChoices
    ) -> Certificate[OutcomesDeclared, OutcomesChoices, OutcomesFacts]:
        """The certificate."""
        expected = declared.columns.candidates
        if (choices.candidate not in expected) if expected else choices.candidate is not None:
            raise InputError("candidate", " or ".join(expected) or "none", choices.candidate)
        bill = bill_of(declared)
        question = question_of(data, declared, choices.candidate, bill.log_confidence)
        value = question.upper()
        return Certificate(
            method=self.name,
            value=value,
            bill=bill,
            declared=declared,
            choices=choices,
            facts=answers(question, data, declared),
            model={"sha256": data.sha256},
            data={"sha256": data.sha256, "n": data.n},
            baseline=_baseline(data, declared),
            declarations=_declarations(data, declared),
            quantity=quantity(data, declared),
            advice=_advice(question, bill, value),
        )


def bill_of(declared: OutcomesDeclared) -> Bill:
    """What the number of parts and every choice cost."""
    lists = (
        ("parts", len(declared.parts), ", ".join(declared.parts)),
        ("among", declared.among, "models, prompts, checkpoints or metrics compared on these rows"),
        ("candidate", len(declared.columns.candidates), "the least mean loss of the columns"),
    )
    paid = tuple(one_of(name, k, f"one of {k}: {why}") for name, k, why in lists if k > 1)
    return Bill(declared.delta, paid)


def quantity(data: OutcomeTable, declared: OutcomesDeclared) -> str:
    """What the number bounds."""
    if declared.columns.unit:
        what = "share of a unit's rows on which the model errs" if data.binary else "loss of a unit"
        return f"mean over units of the {what}"
    return RISK if data.binary else "mean loss on a new example"


def _baseline(data: OutcomeTable, declared: OutcomesDeclared) -> dict[str, Any]:
    """What guessing the most frequent label loses at least, where labels and rows tell."""
    if data.y is None or declared.columns.unit:
        return {"error_at_least": 1.0}
    counts = data.y.counts
    errors, c = int(data.n - counts.max()), Bill(declared.delta).log_confidence
    least = binomial_lower(errors, data.n, c)
    name = data.y.names[int(counts.argmax())]
    return {"class": name, "errors": errors, "error_at_least": least}


def _declarations(data: OutcomeTable, declared: OutcomesDeclared) -> tuple[str, ...]:
    lines = [*ASSUMED, "no choice that led to this model saw these rows, but those that are priced"]
    if declared.columns.unit:
        lines[0] = lines[0].replace("examples", "units")
        lines.append("a unit weighs as much as any other, however many rows it has")
        if declared.columns.groups:
            lines.append("the labels of the groups are all that the population has")
    elif repeated := repeated_ids(data):
        lines.append(f"{repeated:,} rows with the id of an earlier row are draws of their own")
    if declared.columns.groups:
        lines.append("no label of a group was made of outcomes")
    if declared.columns.time:
        lines.append("over time: every row is in the table, whatever came of it")
    if declared.columns.unit and declared.unit_way == "first":
        lines.append("the seed that says which row stands for a unit was drawn at random")
    return tuple(lines)


def repeated_ids(data: OutcomeTable) -> int:
    """How many rows have the id of an earlier one."""
    return 0 if data.ids is None else data.n - len(counts_of(data.ids))


def counts_of(ids: np.ndarray) -> np.ndarray:
    """How many rows each id has."""
    return np.unique(ids, return_counts=True)[1]


def _advice(question: LossQuestion, bill: Bill, value: float) -> tuple[str, ...]:
    """What would lower the number: nothing to pay."""
    if not bill.prices:
        return ()
    alone = replace(question, c=Bill(bill.delta).log_confidence).upper()
    return (f"nothing to pay ({bill.nats:.3g} nats): {alone:.3g} in place of {value:.3g}",)

"""Pick-to-learn as a method: the counts are made again from the final model, and then the number.

A certificate file has the picks by name, the rule, the seed and the learner. From the final model
and the data, the failures among the examples that were not picked are counted again, and with them
the bound (`plan`). That the model was trained on these picks alone, by this learner, is declared:
`replay` checks it by training again.

For a finite pool the number is the share of the pool that fails: at most so many of the items that
were not drawn (`finite`), and those of the drawn ones on which the model fails, which are counted.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dudley.certificates.base import Method, expect_few_copies, method
from dudley.certificates.certificate import (
    ASSUMED,
    RISK,
    Certificate,
    baseline,
    data_facts,
    equal_rows,
)
from dudley.certificates.data import Dataset
from dudley.certificates.methods.pick_to_learn.declared import (
    PickChoices,
    PickDeclared,
    PickFacts,
)
from dudley.certificates.methods.pick_to_learn.plan import PickPlan
from dudley.certificates.methods.pick_to_learn.sample import PickSample, fails
from dudley.certificates.pool import hypergeometric_lower, share_down, share_up
from dudley.certificates.predictor import Predictor, margins
from dudley.certificates.price import Bill
from dudley.core.errors import InputError


@method
class PickToLearn(Method[PickDeclared, PickChoices]):
    """P[error] ≤ ε(k), k the number of picks and of failures that are left."""

    name = "pick-to-learn"
    certifies = Predictor
    declares = PickDeclared
    chooses = PickChoices

    def read_model(self, path: str | Path) -> Predictor:
        """A file cannot say how a model of someone's own computes, and nothing is executed."""
        fix = "in Python: du.verify_training(certificate, learner, data)"
        raise InputError("model", "the code that trains it", f"the file {path}", fix)

    def expect_independent(self, model: Predictor, data: Dataset, declared: PickDeclared) -> None:
        """Draws without replacement may hold copies that their pool holds."""
        if declared.pool is None:
            super().expect_independent(model, data, declared)
        else:
            expect_few_copies(model, data, declared.pool)

    def choose(self, model: Predictor, data: Dataset, declared: PickDeclared) -> PickChoices:
        """Picks are made while a model is trained, and cannot be read off it afterwards."""
        fix = "train with du.certify_training, or dudley certify train --method pick-to-learn"
        raise InputError("picks", "a model that was trained on its picks", "a finished one", fix)

    def certify(
        self, model: Predictor, data: Dataset, declared: PickDeclared, choices: PickChoices
    ) -> Certificate[PickDeclared, PickChoices, PickFacts]:
        """The certificate."""
        sample = PickSample.of(data, declared)
        plan = PickPlan(declared, sample)
        picked = expect_rule(sample, choices)
        outputs = model.outputs(sample.whole.X)
        margin = margins(outputs, sample.whole.y)
        failing = fails(outputs, sample.whole.y, margin, declared)
        rest = np.setdiff1d(np.arange(sample.N), picked) + declared.initial
        left = int(failing[rest].sum())
        if len(choices.picks.rounds) < choices.stop and left:
            raise InputError("picks", f"{choices.stop} rounds, since {left} fail", "fewer")
        facts = PickFacts(
            n=data.n,
            initial=declared.initial,
            N=sample.N,
            rounds=len(choices.picks.rounds),
            picks=len(picked),
            failures=left,
            k=len(picked) + left,
            errors=int((margin[rest] <= 0).sum()),
            error_of_the_rest=left / max(1, len(rest)),
            undrawn_error_at_most=plan.least(len(picked), left) if declared.pool else None,
        )
        value = plan.least(len(picked), left)
        if declared.pool is not None:
            undrawn = min(plan.undrawn(facts.k), declared.pool - data.n)
            value = share_up(int(failing.sum()) + undrawn, declared.pool)
        return Certificate(
            method=self.name,
            value=value,
            bill=plan.bill,
            declared=declared,
            choices=choices,
            facts=facts,
            model=model.facts(),
            data=data_facts(data),
            baseline=_baseline(data, declared),
            declarations=_declarations(data, declared),
            quantity=_quantity(declared),
        )


def expect_rule(sample: PickSample, choices: PickChoices) -> np.ndarray:
    """The picked rows, refused unless stop and batches are those of the declared schedule."""
    declared, rounds = sample.declared, choices.picks.rounds
    if choices.stop not in declared.rounds or not 1 <= len(rounds) <= choices.stop:
        got = f"stop {choices.stop} with {len(rounds)} rounds of picks"
        raise InputError("choices", "a declared stop, and at most so many rounds", got)
    for step, names in enumerate(rounds, 1):
        if not 1 <= len(names) <= declared.batch(step):
            expected = f"1 to {declared.batch(step)} picks, as declared"
            raise InputError(f"round {step}", expected, len(names))
    return sample.rows_of(list(choices.picks))


def _baseline(data: Dataset, declared: PickDeclared) -> dict:
    """How often a constant errs at least, in the population of the number."""
    plain = baseline(data, declared.delta)
    if declared.pool is None:
        return plain
    c = Bill(declared.delta).log_confidence
    least = hypergeometric_lower(plain["errors"], data.n, declared.pool, c)
    return plain | {"error_at_least": share_down(least, declared.pool)}


def _quantity(declared: PickDeclared) -> str:
    what = RISK
    if declared.event == "loss":
        what = f"probability that the cross-entropy on a new example exceeds {declared.level:g}"
    if declared.pool is not None:
        event = "errs" if declared.event == "wrong" else "has such a loss"
        what = f"share of the {declared.pool} items of the pool on which the model {event}"
    return what


def _declarations(data: Dataset, declared: PickDeclared) -> tuple[str, ...]:
    lines: list[str] = [*ASSUMED]
    if declared.pool is not None:
        lines[:2] = [
            f"the {data.n} examples are a random subset, drawn without replacement, of a pool of "
            f"{declared.pool}; the number is about that pool, not about where it came from"
        ]
    lines += [
        "the model was trained by the declared learner on these picks alone (verify --replay)",
        "the start of the learner has not seen the sample, and no scaling, vocabulary or "
        "deduplication was fitted on it",
        "an output depends on its own example, not on the batch in which it is computed",
    ]
    return (*lines, *equal_rows(data))

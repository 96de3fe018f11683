"""Pick-to-learn as a method: the counts are made again from the final model, and then the number.

A certificate file has the picks by name, the rule, the seed and the learner. From the final model
and the data, the failures among the examples that were not picked are counted again, and with them
the bound (`plan`). That the model was trained on these picks alone, by this learner, is declared:
`replay` checks it by training again.

Another machine's arithmetic may count otherwise where a slack is near the tolerance. A verifier
therefore accepts the counts of the file within half the tolerance of its own (`agreement` has the
rule and its proof).

For a finite pool the number is the share of the pool that fails: at most so many of the items that
were not drawn (`finite`), and those of the drawn ones on which the model fails, which are counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dudley.certificates.agreement import OwnCount
from dudley.certificates.base import CertifiedModel, Method, expect_draws, method
from dudley.certificates.certificate import (
    RISK,
    Certificate,
    assumed,
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
from dudley.certificates.methods.pick_to_learn.sample import PickSample, slack
from dudley.certificates.order import seed_declared
from dudley.certificates.pool import share_up
from dudley.certificates.predictor import Predictor, margins
from dudley.core.errors import InputError

REPLAYED = "the model was trained by the declared learner on these picks alone (verify --replay)"


@method
class PickToLearn(Method[PickDeclared, PickChoices]):
    """P[error] ≤ ε(k), k the number of picks and of failures that are left."""

    name = "pick-to-learn"
    certifies = Predictor
    declares = PickDeclared
    chooses = PickChoices

    def read_model(self, path: str | Path) -> CertifiedModel:
        """The model of a file; one of someone's own code is in no file, for none is executed."""
        from dudley.certificates import files, tensors

        if tensors.read(path)[0].get("schema") in (tensors.TRAINED, tensors.MODEL):
            return files.load(path)
        expected = "the file of a named training, which says how the model computes"
        fix = "in Python: du.verify_training(certificate, learner, data)"
        raise InputError("model", expected, f"the file {path}", fix)

    def expect_independent(self, model: Predictor, data: Dataset, declared: PickDeclared) -> None:
        """Draws without replacement may hold copies that their pool holds."""
        expect_draws(model, data, declared, declared.pool)

    def choose(self, model: Predictor, data: Dataset, declared: PickDeclared) -> PickChoices:
        """Picks are made while a model is trained, and cannot be read off it afterwards."""
        fix = "train it with du.certify_training, or dudley certify train --method pick-to-learn"
        raise InputError("picks", "a model that was trained on its picks", "a finished one", fix)

    def certify(
        self, model: Predictor, data: Dataset, declared: PickDeclared, choices: PickChoices
    ) -> Certificate[PickDeclared, PickChoices, PickFacts]:
        """The certificate, with this machine's own counts."""
        return self.recount(model, data, declared, choices, {})[0]

    def recount(
        self,
        model: Predictor,
        data: Dataset,
        declared: PickDeclared,
        choices: PickChoices,
        facts: Mapping[str, Any],
    ) -> tuple[Certificate[PickDeclared, PickChoices, PickFacts], tuple[str, ...]]:
        """The certificate with the counts of some facts where they are accepted."""
        sample = PickSample.of(data, declared)
        picked = expect_rule(sample, choices)
        counts = PickCounts.of(model, sample, picked)
        counted = {count.name: count.accepted(facts.get(count.name)) for count in counts.all}
        remarks = tuple(filter(None, (count.remark(counted[count.name]) for count in counts.all)))
        return self._certificate(model, sample, data, choices, counted), remarks

    def _certificate(
        self,
        model: Predictor,
        sample: PickSample,
        data: Dataset,
        choices: PickChoices,
        counted: Mapping[str, int],
    ) -> Certificate[PickDeclared, PickChoices, PickFacts]:
        """The certificate of some counts."""
        declared, plan = sample.declared, PickPlan(sample.declared, sample)
        picks, left = len(list(choices.picks)), counted["failures"]
        if len(choices.picks.rounds) < choices.stop and left:
            raise InputError("picks", f"{choices.stop} rounds, since {left} fail", "fewer")
        value = plan.least(picks, left)
        facts = PickFacts(
            n=data.n,
            initial=declared.initial,
            N=sample.N,
            rounds=len(choices.picks.rounds),
            picks=picks,
            failures=left,
            k=picks + left,
            errors=counted["errors"],
            error_of_the_rest=left / max(1, sample.N - picks),
            undrawn_error_at_most=value if declared.pool else None,
            drawn_failures=counted["drawn_failures"] if declared.pool else None,
        )
        if declared.pool is not None:
            undrawn = min(plan.undrawn(facts.k), declared.pool - data.n)
            value = share_up(counted["drawn_failures"] + undrawn, declared.pool)
        return Certificate(
            method=self.name,
            value=value,
            bill=plan.bill,
            declared=declared,
            choices=choices,
            facts=facts,
            model=model.facts(),
            data=data_facts(data),
            baseline=baseline(data, declared.delta, declared.pool, _classes_at_once(declared)),
            declarations=_declarations(data, declared),
            quantity=_quantity(declared),
        )


@dataclass(frozen=True)
class PickCounts:
    """What a machine counts: failures and errors among the unpicked, failures of all drawn ones."""

    failures: OwnCount
    errors: OwnCount
    drawn_failures: OwnCount

    @property
    def all(self) -> tuple[OwnCount, ...]:
        return (self.failures, self.errors, self.drawn_failures)

    @staticmethod
    def of(model: Predictor, sample: PickSample, picked: np.ndarray) -> PickCounts:
        """The counts of the final model; the unpicked examples are outside the initial share."""
        X, y, declared = sample.whole.X, sample.whole.y, sample.declared
        outputs, τ = model.outputs(X), declared.tolerance
        margin = margins(outputs, y)
        whole = slack(outputs, y, margin, declared)
        rest = np.setdiff1d(np.arange(sample.N), picked) + declared.initial
        return PickCounts(
            OwnCount.of("failures", whole[rest], τ, τ),
            OwnCount.of("errors", margin[rest], 0.0, τ),
            OwnCount.of("drawn_failures", whole, τ, τ),
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


def _classes_at_once(declared: PickDeclared) -> int:
    """For how many classes a constant answer can avoid the event.

    The cross-entropy is at most ``level`` where the class has a probability of at least e^−level,
    and at most e^level classes have that.
    """
    if declared.level is None:
        return 1
    return math.floor(math.exp(min(declared.level, 40.0)))


def _quantity(declared: PickDeclared) -> str:
    what = RISK
    if declared.event == "loss":
        what = f"probability that the cross-entropy on a new example exceeds {declared.level:g}"
    if declared.pool is not None:
        event = "errs" if declared.event == "wrong" else "has such a loss"
        what = f"share of the {declared.pool} items of the pool on which the model {event}"
    return what


def _declarations(data: Dataset, declared: PickDeclared) -> tuple[str, ...]:
    lines = [
        *assumed(data, declared.pool),
        REPLAYED,
        "the start of the learner has not seen the sample, and no scaling, vocabulary or "
        "deduplication was fitted on it",
        "an output depends on its own example, not on the batch in which it is computed",
    ]
    if declared.initial:
        lines.append(
            f"the first {declared.initial} of {data.n} examples in the order of seed "
            f"{declared.seed} are not counted; it gave the training nothing but random numbers"
        )
        lines.append(seed_declared(declared.seed))
    return (*lines, *equal_rows(data))

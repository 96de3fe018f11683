"""The hold-out: examples that no choice saw, and an exact interval for the mean of a loss.

A model that was fixed before the n examples were looked at has independent losses on them, so an
interval for a mean bounds its risk at once. What is declared beforehand:

    loss      error (default); ramp, with its margin; clipped cross-entropy, with its clip
    interval  clopper-pearson for errors, fixed-bets for other losses, unless another of `intervals`
              is named; a list of k means the smallest of them, which costs ln k
    looks     M models or checkpoints were compared on these examples: each is claimed at δ/M
    pool      N: the examples were drawn without replacement from a pool of N, and the number is
              about that pool (`dudley.certificates.pool`)
    split     the seed of the order in which these examples were held out of more, if they were

Nothing else is chosen, so nothing else is paid.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dudley.certificates.base import Method, expect_draws, method
from dudley.certificates.certificate import (
    Certificate,
    assumed,
    baseline,
    data_facts,
    equal_rows,
)
from dudley.certificates.data import Dataset
from dudley.certificates.methods.hold_out.advice import advice
from dudley.certificates.methods.hold_out.declared import (
    HoldOutChoices,
    HoldOutDeclared,
    HoldOutFacts,
)
from dudley.certificates.methods.hold_out.losses import losses
from dudley.certificates.methods.hold_out.plan import HoldOutPlan, plan_of
from dudley.certificates.order import seed_declared
from dudley.certificates.pool import hypergeometric_upper, share_up
from dudley.certificates.predictor import Predictor, margins
from dudley.core.errors import InputError
from dudley.core.rounding import down


@method
class HoldOut(Method[HoldOutDeclared, HoldOutChoices]):
    """P[error] ≤ the interval's upper end on examples that no choice saw."""

    name = "hold-out"
    certifies = Predictor
    declares = HoldOutDeclared
    chooses = HoldOutChoices

    def expect_independent(
        self, model: Predictor, data: Dataset, declared: HoldOutDeclared
    ) -> None:
        """Draws without replacement may hold copies that their pool holds."""
        expect_draws(model, data, declared, plan_of(declared, data.n).pool)

    def choose(self, model: Predictor, data: Dataset, declared: HoldOutDeclared) -> HoldOutChoices:
        """The interval whose bound is the smallest, of those declared."""
        plan = plan_of(declared, data.n)
        if len(plan.intervals) == 1:
            return HoldOutChoices(plan.intervals[0])
        data = data.part(data.order)  # whatever the order of the file
        z, c = losses(model.outputs(data.X), data.y, plan.loss), plan.bill.log_confidence
        return HoldOutChoices(min(plan.intervals, key=lambda name: plan.bound(name, z, c)))

    def certify(
        self, model: Predictor, data: Dataset, declared: HoldOutDeclared, choices: HoldOutChoices
    ) -> Certificate[HoldOutDeclared, HoldOutChoices, HoldOutFacts]:
        """The certificate."""
        plan = plan_of(declared, data.n)
        if choices.interval not in plan.intervals:
            raise InputError(
                "choices", f"interval: {' or '.join(plan.intervals)}", choices.interval
            )
        data = data.part(data.order)  # whatever the order of the file
        outputs, interval = model.outputs(data.X), choices.interval
        margin = margins(outputs, data.y)
        z, c = losses(outputs, data.y, plan.loss), plan.bill.log_confidence
        value = plan.bound(interval, z, c)
        facts = HoldOutFacts(
            n=data.n,
            errors=int((margin <= 0).sum()),
            ties=int((margin == 0).sum()),
            mean_loss=math.fsum(z.tolist()) / data.n,
        )
        if plan.pool is not None:
            facts = _of_pool(facts, plan.pool, c)
        return Certificate(
            method=self.name,
            value=value,
            bill=plan.bill,
            declared=replace(declared, interval=plan.intervals),
            choices=choices,
            facts=facts,
            model=model.facts(),
            data=data_facts(data),
            baseline=_baseline(data, plan),
            declarations=_declarations(plan, declared, data),
            quantity=plan.loss.quantity if plan.pool is None else _about_pool(plan.pool),
            advice=advice(plan, interval, z, value),
        )


def _about_pool(pool: int) -> str:
    return f"share of the {pool} examples of the pool on which the model errs"


def _of_pool(facts: HoldOutFacts, pool: int, c: float) -> HoldOutFacts:
    """With the bound in whole numbers, and that of the examples that were not drawn."""
    most = hypergeometric_upper(facts.errors, facts.n, pool, c)
    rest = share_up(most - facts.errors, pool - facts.n) if pool > facts.n else 0.0
    return replace(facts, pool=pool, pool_errors_at_most=most, undrawn_error_at_most=rest)


def _baseline(data: Dataset, plan: HoldOutPlan) -> dict[str, Any]:
    """How much a constant loses at least, in the loss and the population of the plan.

    A constant errs where its most likely class is wrong, and there its cross-entropy is ≥ ln 2.
    """
    plain = baseline(data, plan.delta, plan.pool)
    if plan.loss.name == "clipped cross-entropy":
        assert plan.loss.level is not None
        share = down(min(1.0, math.log(2) / plan.loss.level))
        return plain | {"error_at_least": float(down(plain["error_at_least"] * share))}
    return plain


def _declarations(plan: HoldOutPlan, declared: HoldOutDeclared, data: Dataset) -> tuple[str, ...]:
    unseen = "no choice that led to this model saw these examples: no training, tuning or stopping"
    if plan.looks > 1:
        unseen += f", but the choice among {plan.looks} models or checkpoints"
    lines = [*assumed(data, plan.pool), unseen]
    if declared.split is not None:
        lines.append(seed_declared(declared.split))
    return (*lines, *equal_rows(data))

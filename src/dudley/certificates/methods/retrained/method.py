"""A model that was trained on all data, certified by its disagreements with the model of the picks.

**Meaning.** The number of pick-to-learn is about the model h of its picks. A model g that was
trained once more, on all data, may be better, but the number does not cover it: g may remember the
sample and be wrong everywhere else, while the picks stay as they are. Inputs without labels settle
this, if they are fresh: where g agrees with h, it is as good as h.

**Formula.** δ₁ + δ₂ = δ is declared before the data, ε(·) is the bound of pick-to-learn, and of m
fresh inputs h and g disagree on d. Then except with probability δ

    P[g fails] ≤ ε(k) at δ₁  +  max{p : P[Bin(m, p) ≤ d] ≥ δ₂}.

**Hypotheses.** The m inputs are independent draws of the inputs of the same population, independent
of the labelled sample. They were looked at after both models were fixed: no training, choice or
stop saw them. g may be *any* function of the labelled sample.

**Proof.** An example fails where its margin is at most τ ≥ 0. Let g fail on (x, y), and h not. Then
h decides for y. If g decided for y, its margin would exceed τ, and it would not fail. So g decides
for another class or for none: the models disagree on x. Hence always

    1{g fails} ≤ 1{h fails} + 1{h and g disagree},

and the same holds for the probabilities of a new example. The first is at most ε(k), except with
probability δ₁ (`pick_to_learn.bound`). Given the labelled sample, h and g are fixed, and the m
disagreements are independent Bernoulli variables; so Clopper and Pearson's bound holds for the
second, except with probability δ₂ given the sample, hence at all. The two exceptions together have
probability at most δ₁ + δ₂, whatever they have to do with each other. ∎

**A finite pool** of M items, n of them labelled, and m drawn without replacement from the others:
on the n labelled items the failures of g are counted, and of the M − n others it fails on at most

    (undrawn failures of h, from `pick_to_learn.finite`) + (hypergeometric bound of disagreements),

by the same inequality, summed over these items.

A verifier accepts counts within τ/2 of its own (`certificates.agreement`): the inequality and both
bounds hold on its machine with τ/2 in place of τ, and no accepted count is below that of τ/2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.agreement import OwnCount
from dudley.certificates.base import Method, expect_draws, method
from dudley.certificates.certificate import (
    RISK,
    Certificate,
    assumed,
    baseline,
    data_facts,
    equal_rows,
)
from dudley.certificates.methods.pick_to_learn.declared import PickChoices, PickDeclared
from dudley.certificates.methods.pick_to_learn.method import PickToLearn
from dudley.certificates.methods.pick_to_learn.plan import PickPlan
from dudley.certificates.methods.pick_to_learn.sample import PickSample
from dudley.certificates.methods.retrained.declared import RetrainedDeclared, RetrainedFacts
from dudley.certificates.methods.retrained.pair import RetrainedData, RetrainedPair
from dudley.certificates.pool import hypergeometric_upper, share_up
from dudley.certificates.price import Bill, Price, one_of
from dudley.certificates.single import expect_single
from dudley.core.errors import InputError
from dudley.core.rounding import up

OF_PICKS = ("picks alone", "start of", "the seed")
IN_PYTHON = "in Python: dudley.certificates.verify.verify(certificate, pair, data)"


@method
class Retrained(Method[RetrainedDeclared, PickChoices]):
    """P[error] ≤ the bound of the picks plus that of the disagreements."""

    name = "retrained"
    certifies = RetrainedPair
    declares = RetrainedDeclared
    chooses = PickChoices

    def read_model(self, path: str | Path) -> RetrainedPair:
        """One file does not hold two models."""
        raise InputError("model", "the models of the picks and of all data", path, IN_PYTHON)

    def read_data(self, path: str | Path) -> RetrainedData:
        """One file does not hold two samples."""
        raise InputError("data", "a labelled sample and unlabelled inputs", path, IN_PYTHON)

    def expect(self, model: RetrainedPair) -> None:
        """Refuse anything but a pair."""
        if not isinstance(model, RetrainedPair):
            got, fix = type(model).__name__, "certify it with du.certify_retrained"
            raise InputError("model", "the models of the picks and of all data", got, fix)

    def expect_independent(
        self, model: RetrainedPair, data: RetrainedData, declared: RetrainedDeclared
    ) -> None:
        """The sample and the inputs together must be draws of one population."""
        pool = declared.picking.pool
        floats = pool is None and data.labelled.X.dtype.kind == "f"
        if floats and not declared.repeats and data.shared:
            got, fix = f"{data.shared} rows that are in the sample", "take inputs never trained on"
            raise InputError("unlabelled inputs", "fresh ones", got, fix)
        expect_single(model.picked.outputs, data.labelled.X)
        expect_draws(model, data.labelled, declared, pool)
        expect_draws(model, data.whole, declared, pool)

    def choose(
        self, model: RetrainedPair, data: RetrainedData, declared: RetrainedDeclared
    ) -> PickChoices:
        """Picks are made while a model is trained, and cannot be read off it afterwards."""
        fix = "certify it with du.certify_retrained"
        raise InputError("picks", "the choices of a certificate of the picks", "none", fix)

    def certify(
        self,
        model: RetrainedPair,
        data: RetrainedData,
        declared: RetrainedDeclared,
        choices: PickChoices,
    ) -> Certificate[RetrainedDeclared, PickChoices, RetrainedFacts]:
        """The certificate, with this machine's own counts."""
        return self.recount(model, data, declared, choices, {})[0]

    def recount(
        self,
        model: RetrainedPair,
        data: RetrainedData,
        declared: RetrainedDeclared,
        choices: PickChoices,
        facts: Mapping[str, Any],
    ) -> tuple[Certificate[RetrainedDeclared, PickChoices, RetrainedFacts], tuple[str, ...]]:
        """The certificate with the counts of some facts where they are accepted."""
        pool, τ, picking = declared.picking.pool, declared.picking.tolerance, _picking(declared)
        picked, remarks = PickToLearn().recount(
            model.picked, data.labelled, picking, choices, {"failures": facts.get("failures")}
        )
        counts = (
            OwnCount.of("disagreements", model.agreement(data.inputs.X), τ, τ),
            OwnCount.of("errors_of_the_sample", model.margins(data.labelled), τ, τ),
        )
        d, failing = (count.accepted(facts.get(count.name)) for count in counts)
        remarks += (counts[0].remark(d), counts[1].remark(failing))
        m = data.inputs.n
        c, undrawn = _disagreement_bill(declared).log_confidence, None
        if pool is None:
            apart = binomial_upper(d, m, c)
            value = min(1.0, up(picked.value + apart))
        else:
            rest = pool - data.labelled.n
            if m > rest:
                raise InputError("unlabelled inputs", f"at most the {rest} items not drawn", m)
            most = hypergeometric_upper(d, m, rest, c)
            plan = PickPlan(picking, PickSample.of(data.labelled, picking))
            total = min(rest, plan.undrawn(picked.facts.k) + most)
            apart, undrawn = share_up(most, rest), share_up(total, rest)
            value = share_up(failing + total, pool)
        record = RetrainedFacts(
            n=data.labelled.n,
            N=picked.facts.N,
            picks=picked.facts.picks,
            failures=picked.facts.failures,
            k=picked.facts.k,
            picked_error_at_most=picked.value,
            unlabelled=m,
            disagreements=d,
            disagreement_at_most=apart,
            errors_of_the_sample=failing,
            undrawn_error_at_most=undrawn,
        )
        inputs = {"unlabelled": {"sha256": data.inputs.sha256, "n": m}}
        certificate = Certificate(
            method=self.name,
            value=value,
            bill=Bill(declared.delta, _prices(declared)),
            declared=declared,
            choices=choices,
            facts=record,
            model=model.facts(),
            data=data_facts(data.labelled) | inputs,
            baseline=baseline(data.labelled, declared.delta, pool),
            declarations=_declarations(picked, data, pool),
            quantity=RISK if pool is None else picked.quantity,
        )
        return certificate, tuple(filter(None, remarks))


def _picking(declared: RetrainedDeclared) -> PickDeclared:
    """What pick-to-learn declared, at its part of δ."""
    share = math.nextafter(declared.delta * (1 - declared.share), 0.0)
    return replace(declared.picking, delta=share, among=declared.among, repeats=declared.repeats)


def _disagreement_bill(declared: RetrainedDeclared) -> Bill:
    """The disagreements' part of δ, and the price of a choice among methods."""
    return Bill(math.nextafter(declared.delta * declared.share, 0.0), _prices(declared))


def _prices(declared: RetrainedDeclared) -> tuple[Price, ...]:
    """What both parts pay; the picks pay for their stop beside it."""
    among = declared.among
    return (one_of("method", among, f"one of {among}: the best of several"),) if among > 1 else ()


def _declarations(
    picked: Certificate[Any, Any, Any], data: RetrainedData, pool: int | None
) -> tuple[str, ...]:
    m = data.inputs.n
    fresh = f"the {m} unlabelled inputs are draws of the same population, independent of the sample"
    if pool is not None:
        fresh = f"the {m} unlabelled inputs are a random subset of the items that were not drawn"
    return (
        *assumed(data.labelled, pool),
        *(line for line in picked.declarations if any(words in line for words in OF_PICKS)),
        fresh,
        "no training, choice or stop that led to either model saw the unlabelled inputs",
        "an output depends on its own example, not on the batch in which it is computed",
        *equal_rows(data.labelled),
    )

"""PAC-Bayes around a start: what does not count weights counts how far they went.

Let θ₀, and the scales S of the prior, be functions of a share of the sample alone (or of nothing).
Given the share, the n − n₀ other examples are independent draws (`around.shares`), and P = N(θ₀,
diag (s·S)²) is fixed before them for every s of the grid. So the theorems of
`methods.pac_bayes.forms` hold for the event "margin ≤ τ" with n − n₀ in place of n:

    L_τ(Q) ≤ form(betting(X_1 … X_K, ln(1/ρδ)), KL(Q‖P) + ln(1/(1−ρ)δ) + prices, n − n₀),

for every Q = N(θ, diag σ²) at once, whatever θ and σ were made of; and L(Q), the probability that
the model with weights drawn from Q *errs*, is at most L_τ(Q). The X_k are made by `around.draws`.
The scale s, the part that moves and the form are chosen from declared lists, and paid for.

A verifier accepts a bound on the draws that is at least its own for the event "margin ≤ τ/2", and
at most that for 3τ/2. On its machine that event contains every error, and all of the above holds
for it in place of "margin ≤ τ" (see `certificates.agreement`); the form grows with the bound.

With σ = s·S in every tensor the divergence is ½ Σ_t ‖θ_t − θ₀_t‖²/(s·S_t)²: no number of weights
is in it. A σ that is off by a factor 1 + x costs about x²/4 for *each weight*, so σ is best taken
from the grid of s.

What is bounded is the randomised predictor. Nothing is said of the model with weights θ; the error
of a model drawn once differs from L(Q) as draws differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dudley.certificates import digits
from dudley.certificates.agreement import OwnCount
from dudley.certificates.around.declared import expect_start, of_start
from dudley.certificates.around.draws import SharesByTolerance, shares_at
from dudley.certificates.around.posterior import AroundPosterior, load
from dudley.certificates.around.start import read_start
from dudley.certificates.base import Method, method
from dudley.certificates.certificate import (
    ASSUMED,
    Certificate,
    baseline,
    data_facts,
    equal_rows,
)
from dudley.certificates.data import Dataset
from dudley.certificates.methods.hold_out.interval import upper
from dudley.certificates.methods.pac_bayes.declared import PacBayesChoices
from dudley.certificates.methods.pac_bayes.form import FORMS
from dudley.certificates.methods.pac_bayes.scales import (
    Divergences,
    advice,
    bound_of,
    draws_confidence,
    expect_scales,
    least_choices,
)
from dudley.certificates.methods.pac_bayes_around.declared import (
    PacBayesAroundDeclared,
    PacBayesAroundFacts,
)
from dudley.certificates.price import Price, one_of
from dudley.certificates.shares import split_share
from dudley.certificates.single import expect_single
from dudley.core.errors import InputError

RISK_OF_DRAWS = (
    "probability that the model with weights drawn from its posterior errs on a new example"
)
RANDOMISED = (
    "this is the randomised predictor: nothing is said of the model with the mean weights",
    "pseudo-random numbers, fixed by the hashes of the posterior and of the counted examples, "
    "stand for random ones; neither was altered to change them",
    "an output depends on its own example, not on the batch in which it is computed",
)
MEASURED = "the relative scales of the prior were measured on the share alone (a file may hold any)"


@method
class PacBayesAround(Method[PacBayesAroundDeclared, PacBayesChoices]):
    """A PAC-Bayes form at the divergence from the start."""

    name = "pac-bayes-around"
    randomised = True
    declares = PacBayesAroundDeclared
    chooses = PacBayesChoices

    def read_model(self, path: str | Path) -> AroundPosterior:
        """A posterior's file, with its start as ``start.safetensors`` in the same folder."""
        by_hand = "du.verify_around(certificate, start, data, posterior)"
        return load(path, read_start(Path(path).parent / "start.safetensors", by_hand))

    def expect(self, model: AroundPosterior) -> None:
        """Refuse what is no posterior around a start."""
        if not isinstance(model, AroundPosterior):
            expected, fix = "a posterior around a start", "du.certify_around makes one"
            raise InputError(f"model for {self.name}", expected, type(model).__name__, fix)

    def expect_independent(
        self, model: AroundPosterior, data: Dataset, declared: PacBayesAroundDeclared
    ) -> None:
        """Nor may a drawn model look at the other examples: the one of the mean is tried."""
        super().expect_independent(model, data, declared)
        expect_single(model.start.model(model.mean).outputs, data.X)

    def choose(
        self, model: AroundPosterior, data: Dataset, declared: PacBayesAroundDeclared
    ) -> PacBayesChoices:
        """The scales, the form and its entry with the smallest number."""
        Q = _expect_posterior(model, declared)
        _, rest = split_share(data, declared.initial, declared.seed)
        q = DrawnFailures(Q, rest, declared).at_most(declared.tolerance)
        return least_choices(_divergences(Q), rest.n, q, declared, _prices(declared))

    def certify(
        self,
        model: AroundPosterior,
        data: Dataset,
        declared: PacBayesAroundDeclared,
        choices: PacBayesChoices,
    ) -> Certificate[PacBayesAroundDeclared, PacBayesChoices, PacBayesAroundFacts]:
        """The certificate, with this machine's own counts."""
        return self.recount(model, data, declared, choices, {})[0]

    def recount(
        self,
        model: AroundPosterior,
        data: Dataset,
        declared: PacBayesAroundDeclared,
        choices: PacBayesChoices,
        facts: Mapping[str, Any],
    ) -> tuple[
        Certificate[PacBayesAroundDeclared, PacBayesChoices, PacBayesAroundFacts], tuple[str, ...]
    ]:
        """The certificate with what some facts say of the draws, where it is accepted."""
        Q = _expect_posterior(model, declared)
        _, rest = split_share(data, declared.initial, declared.seed)
        draws = DrawnFailures(Q, rest, declared)
        mean = draws.accepted("mean_failure", draws.mean, facts)
        q = draws.accepted("mean_failure_at_most", draws.at_most, facts)
        middle = Q.start.model(Q.mean).margins(rest)
        at_mean = OwnCount.of("mean_failures", middle, declared.tolerance, declared.tolerance)
        value, bill, parts, nats = bound_of(
            _divergences(Q), rest.n, q, declared, choices, _prices(declared)
        )
        divergence = digits.up(math.fsum(parts.values()))
        record = PacBayesAroundFacts(
            n=data.n,
            initial=declared.initial,
            counted=rest.n,
            part=Q.part,
            weights=Q.count,
            divergence=divergence,
            divergences={name: digits.up(part) for name, part in parts.items()},
            draws=declared.draws,
            examples=declared.examples,
            mean_failure=mean,
            mean_failure_at_most=q,
            mean_failures=at_mean.accepted(facts.get("mean_failures")),
            start_sha256=Q.start.sha256,
        )
        form, words = FORMS[choices.form], f"the draws fail on {digits.near(mean):.3g} of examples"
        certificate = Certificate(
            method=self.name,
            value=value,
            bill=bill,
            declared=declared,
            choices=choices,
            facts=record,
            model={
                "sha256": Q.sha256,
                "weights": Q.start.count,
                "batch": Q.start.predictor.batch,
                "start": Q.start.sha256,
            },
            data=data_facts(data),
            baseline=baseline(data, bill.delta),
            declarations=(
                *ASSUMED,
                *of_start(declared, data.n),
                *((MEASURED,) if declared.relative == "share" else ()),
                *RANDOMISED,
                *equal_rows(data),
            ),
            quantity=RISK_OF_DRAWS,
            advice=advice(form, choices.option, q, divergence, nats, rest.n, mean, words),
        )
        remarks = (
            draws.remark("mean_failure", draws.mean, mean),
            draws.remark("mean_failure_at_most", draws.at_most, q),
            at_mean.remark(record.mean_failures),
        )
        return certificate, tuple(filter(None, remarks))


@dataclass(frozen=True, eq=False)
class DrawnFailures:
    """The failing shares of the draws at the tolerance τ, and at τ/2 and 3τ/2."""

    Q: AroundPosterior
    counted: Dataset
    declared: PacBayesAroundDeclared

    @cached_property
    def shares(self) -> SharesByTolerance:
        τ, K, m = self.declared.tolerance, self.declared.draws, self.declared.examples
        return shares_at(self.Q, self.counted, K, m, tuple(sorted({τ / 2, τ, 1.5 * τ})))

    def mean(self, tolerance: float) -> float:
        """The mean of the draws."""
        return float(self.shares[tolerance].mean())

    def at_most(self, tolerance: float) -> float:
        """The mean over all draws, from above at confidence ρδ/among, in ten digits."""
        c = draws_confidence(self.declared)
        return digits.up(upper("betting", self.shares[tolerance], c))

    def accepted(self, name: str, of: Callable[[float], float], facts: Mapping[str, Any]) -> float:
        """What a fact claims, if it lies between the numbers at τ/2 and 3τ/2; else the own one."""
        τ, claimed = self.declared.tolerance, facts.get(name)
        here = of(τ)
        if not isinstance(claimed, float) or claimed == digits.near(here):
            return here
        return claimed if of(τ / 2) <= claimed <= of(1.5 * τ) else here

    def remark(self, name: str, of: Callable[[float], float], counted: float) -> str:
        """What to say of an accepted number; nothing where it is this machine's own."""
        τ = self.declared.tolerance
        if counted == (here := of(τ)):
            return ""
        return (
            f"{name}: this machine's arithmetic gives {digits.near(here)} instead of {counted}; "
            f"margins within {τ / 2:g} of the limit {τ:g} explain it"
        )


def _expect_posterior(model: AroundPosterior, declared: PacBayesAroundDeclared) -> AroundPosterior:
    """The posterior; it and what is declared are refused unless they can be certified."""
    expect_start(declared, model.start.sha256)
    expect_scales(declared)
    if model.relative != declared.relative:
        got = f"{model.relative} in the posterior"
        raise InputError("relative scales", f"those declared, {declared.relative}", got)
    if model.part not in declared.parts:
        raise InputError("part that moves", f"one of {list(declared.parts)}", model.part)
    return model


def _divergences(Q: AroundPosterior) -> Divergences:
    return Divergences(Q.names, Q.divergences)


def _prices(declared: PacBayesAroundDeclared) -> list[Price]:
    parts = len(declared.parts)
    return [one_of("part that moves", parts)] if parts > 1 else []

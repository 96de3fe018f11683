"""The method ``pac-bayes``: a certificate for the predictor whose weights are drawn from Q.

    L(Q) ≤ form(binomial_upper(erring pairs, N, ln(1/ρδ)), KL(Q‖P) + ln(1/(1−ρ)δ) + prices, n − n₀)

* ``prior`` says what P is (`prior`); it must be what the posterior's file says.
* The prior's scale is ``scale``·2^{j/2}: ``grid = "each"`` chooses j for every matrix after the
  data, ``"one"`` one j for all, ``"none"`` j = 0; a choice pays for its entry of the prefix grid.
* ``forms`` are the forms among which the smallest number is shown; k of them cost ln k.
* ``pairs`` = N and the ``share`` ρ of δ for the draws. The draws come after every choice, and what
  they bound, L̂(Q), is one number whatever is chosen among the priors and forms: ρδ is paid once.
* ``radius`` is where the encoding clips rows, if that is no power of two (`..clipping`).

σ and w are free: a PAC-Bayes bound holds for all posteriors at once.
"""

from __future__ import annotations

import math

from dudley.calculus.inversion import binomial_upper
from dudley.certificates import digits
from dudley.certificates.base import Method, method
from dudley.certificates.certificate import ASSUMED, Certificate, baseline, data_facts, equal_rows
from dudley.certificates.clipping import clipping_prices
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes.declared import (
    PacBayesChoices,
    PacBayesDeclared,
    PacBayesFacts,
)
from dudley.certificates.methods.pac_bayes.form import FORMS
from dudley.certificates.methods.pac_bayes.monte_carlo import errors_of_pairs
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.methods.pac_bayes.prior import Learned
from dudley.certificates.methods.pac_bayes.scales import (
    Divergences,
    advice,
    bound_of,
    draws_confidence,
    expect_scales,
    least_choices,
)
from dudley.certificates.order import seed_declared
from dudley.core.constraint import size_of
from dudley.core.errors import InputError

RISK_OF_DRAWS = (
    "probability that the model with weights drawn from its posterior errs on a new example"
)
OWN = (
    "the network and the encoding were fixed before the data",
    "this is the randomised predictor: nothing is said of the model with the mean weights",
    "pseudo-random numbers, fixed by the hashes of the posterior and of the counted examples, "
    "stand for random ones; neither was altered to change them",
)


@method
class PacBayes(Method[PacBayesDeclared, PacBayesChoices]):
    """Final: PAC-Bayes."""

    name = "pac-bayes"
    randomised = True
    declares = PacBayesDeclared
    chooses = PacBayesChoices

    def choose(self, model: Posterior, data: Dataset, declared: PacBayesDeclared):
        """The scales, the form and its entry with the smallest number."""
        Q = _expect_posterior(model, declared)
        counted, more = Q.prior.counted(data), clipping_prices(Q.encoding, declared.radius)
        q = _mean_error(Q, counted, declared)[1]
        return least_choices(_divergences(Q), counted.n, q, declared, more)

    def certify(
        self,
        model: Posterior,
        data: Dataset,
        declared: PacBayesDeclared,
        choices: PacBayesChoices,
    ) -> Certificate[PacBayesDeclared, PacBayesChoices, PacBayesFacts]:
        """The certificate."""
        Q = _expect_posterior(model, declared)
        counted = Q.prior.counted(data)
        erring, q = _mean_error(Q, counted, declared)
        more, n = clipping_prices(Q.encoding, declared.radius), counted.n
        value, bill, parts, nats = bound_of(_divergences(Q), n, q, declared, choices, more)
        form, divergence = FORMS[choices.form], digits.up(math.fsum(parts.values()))
        draws = f"{erring} of {declared.pairs} pairs err"
        facts = PacBayesFacts(
            n=n,
            seen_by_prior=data.n - n,
            divergence=divergence,
            divergences={name: digits.up(part) for name, part in parts.items()},
            pairs=declared.pairs,
            erring_pairs=erring,
            mean_error_at_most=q,
            prior_sha256=Q.prior_sha256,
            mean_sha256=Q.mean.sha256,
        )
        return Certificate(
            method=self.name,
            value=value,
            bill=bill,
            declared=declared,
            choices=choices,
            facts=facts,
            model={
                "sha256": Q.sha256,
                "weights": sum(W.size for W in Q.weights.values()),
                "encoding": Q.encoding.to_json(),
            },
            data=data_facts(data),
            baseline=baseline(data, bill.delta),
            declarations=ASSUMED + OWN + _of_prior(Q) + equal_rows(data),
            quantity=RISK_OF_DRAWS,
            advice=advice(
                form, choices.option, q, divergence, nats, n, erring / declared.pairs, draws
            ),
        )


def _expect_posterior(model: Hypothesis | Posterior, declared: PacBayesDeclared) -> Posterior:
    """The posterior; it and what is declared are refused unless they can be certified."""
    if not isinstance(model, Posterior):
        fix = "fit one: dudley.certificates.fit.posterior"
        raise InputError("model for pac-bayes", "a posterior (means, σ, prior)", "one model", fix)
    if declared.prior != model.prior.to_json():
        got = f"{model.prior.to_json()} in the posterior's file"
        raise InputError("prior", f"what is declared, {declared.prior}", got)
    expect_scales(declared)
    size_of("pairs", declared.pairs)
    return model


def _mean_error(Q: Posterior, counted: Dataset, declared: PacBayesDeclared) -> tuple[int, float]:
    """The erring pairs, and L̂(Q) from above at confidence ρδ/among."""
    erring = errors_of_pairs(Q, counted, declared.pairs)
    return erring, binomial_upper(erring, declared.pairs, draws_confidence(declared))


def _divergences(Q: Posterior) -> Divergences:
    return Divergences(tuple(Q.mean.shapes), lambda s: Q.divergences(dict(s)))


def _of_prior(Q: Posterior) -> tuple[str, ...]:
    if not isinstance(Q.prior, Learned):
        return ("the prior has not seen the data",)
    return (
        f"the prior was learned from the first {Q.prior.prefix} examples of the split by seed "
        f"{Q.prior.split} and has seen no others; those are not counted",
        seed_declared(Q.prior.split),
        "the prior's learner did not use the seed of the split",
    )

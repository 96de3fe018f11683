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

from dudley.calculus.union import Grid
from dudley.certificates import digits
from dudley.certificates.base import Method, method
from dudley.certificates.certificate import ASSUMED, Certificate, baseline, data_facts, equal_rows
from dudley.certificates.clipping import clipping_prices
from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.inversion import binomial_upper
from dudley.certificates.methods.pac_bayes.declared import (
    PacBayesChoices,
    PacBayesDeclared,
    PacBayesFacts,
)
from dudley.certificates.methods.pac_bayes.form import FORMS, PacBayesForm
from dudley.certificates.methods.pac_bayes.monte_carlo import errors_of_pairs
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.methods.pac_bayes.prior import Learned
from dudley.certificates.price import Bill, Price, one_of
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.core.rounding import up

RISK_OF_DRAWS = (
    "probability that the model with weights drawn from its posterior errs on a new example"
)
OWN = (
    "the network and the encoding were fixed before the data",
    "this is the randomised predictor: nothing is said of the model with the mean weights",
    "pseudo-random numbers, fixed by the hashes of the posterior and of the counted examples, "
    "stand for random ones; neither was altered to change them",
)
GRID, LARGEST = Grid(), 60  # of the prior's scale


@method
class PacBayes(Method[PacBayesDeclared, PacBayesChoices]):
    """Final: PAC-Bayes."""

    name = "pac-bayes"
    randomised = True
    declares = PacBayesDeclared
    chooses = PacBayesChoices

    def choose(self, model: Posterior, data: Dataset, declared: PacBayesDeclared):
        """The scales, the form and its entry with the smallest number."""
        Q, best = _expect_posterior(model, declared), None
        scales, counted = _scales(Q, declared), Q.prior.counted(data)
        q = _mean_error(Q, counted, declared)[1]
        for form in declared.forms:
            for option in FORMS[form].options():
                choices = PacBayesChoices(scales, form, option)
                value = _bound(Q, counted.n, declared, choices, q)
                best = min(best or (value, choices), (value, choices), key=lambda pair: pair[0])
        assert best is not None
        return best[1]

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
        bill, parts = _bill(Q, declared, choices)
        form, n = FORMS[choices.form], counted.n
        divergence = digits.up(math.fsum(parts.values()))
        nats = float(up(divergence + bill.log_confidence))
        value = form.bound(q, nats, n, choices.option)
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
            advice=_advice(form, choices.option, q, divergence, nats, n, erring, declared.pairs),
        )


def _expect_posterior(model: Hypothesis | Posterior, declared: PacBayesDeclared) -> Posterior:
    """The posterior; it and what is declared are refused unless they can be certified."""
    if not isinstance(model, Posterior):
        fix = "fit one: dudley.certificates.fit.posterior"
        raise InputError("model for pac-bayes", "a posterior (means, σ, prior)", "one model", fix)
    if declared.prior != model.prior.to_json():
        got = f"{model.prior.to_json()} in the posterior's file"
        raise InputError("prior", f"what is declared, {declared.prior}", got)
    if declared.grid not in ("each", "one", "none"):
        raise InputError("grid", "each, one or none", declared.grid)
    if not 0 < declared.scale < math.inf:
        raise InputError("scale", "a number > 0", declared.scale)
    if not 0 < declared.share < 1:
        raise InputError("share of δ for the draws", "a number in (0, 1)", declared.share)
    forms = declared.forms
    if not forms or len(set(forms)) < len(forms):
        raise InputError("forms", f"a list of forms, each once: {', '.join(FORMS)}", list(forms))
    for form in forms:
        FORMS[form]
    size_of("pairs", declared.pairs)
    return model


def _mean_error(Q: Posterior, counted: Dataset, declared: PacBayesDeclared) -> tuple[int, float]:
    """The erring pairs, and L̂(Q) from above at confidence ρδ/among."""
    erring = errors_of_pairs(Q, counted, declared.pairs)
    c = float(up(-math.log(declared.share * declared.delta) + math.log(declared.among), 8))
    return erring, binomial_upper(erring, declared.pairs, c)


def _s(declared: PacBayesDeclared, j: int) -> float:
    if abs(j) > LARGEST:
        raise InputError("exponent of a scale", f"an integer from −{LARGEST} to {LARGEST}", j)
    return declared.scale * GRID.ratio**j


def _scales(Q: Posterior, declared: PacBayesDeclared) -> dict[str, int]:
    """For each matrix the exponent of the cheapest prior, its price included."""
    names, grid = list(Q.mean.shapes), declared.grid
    exponents = range(-LARGEST, LARGEST + 1) if grid != "none" else (0,)
    costs = {j: Q.divergences(dict.fromkeys(names, _s(declared, j))) for j in exponents}
    if grid == "each":
        return {n: min(costs, key=lambda j: costs[j][n] + GRID.nats(j)) for n in names}
    best = min(costs, key=lambda j: math.fsum(costs[j].values()) + GRID.nats(j))
    return dict.fromkeys(names, best)


def _bill(
    Q: Posterior, declared: PacBayesDeclared, choices: PacBayesChoices
) -> tuple[Bill, dict[str, float]]:
    """Every price, and the divergence of each matrix."""
    names, scales, grid = list(Q.mean.shapes), choices.scales, declared.grid
    if set(scales) != set(names):
        raise InputError("choices", "scales of every matrix, form, option", choices)
    if choices.form not in declared.forms:
        raise InputError("form", f"one of those declared, {list(declared.forms)}", choices.form)
    option = choices.option
    if option not in FORMS[choices.form].options():
        raise InputError("option of the form", "one of its list", option)
    if grid == "none" and any(scales.values()):
        raise InputError("scales", "0 for every matrix: the grid is none", scales)
    if grid == "one" and len(set(scales.values())) != 1:
        raise InputError("scales", "one exponent: the grid is one", scales)
    s = {name: _s(declared, j) for name, j in scales.items()}
    share = Price(
        "δ for the draws", float(up(-math.log1p(-declared.share))), f"{declared.share} of δ"
    )
    prices = [share, *clipping_prices(Q.encoding, declared.radius)]
    if grid != "none":
        for name in names if grid == "each" else ["all"]:
            j = scales[name] if grid == "each" else scales[names[0]]
            note = f"{declared.scale:g}·2^({j}/2)"
            prices.append(Price(f"prior scale of {name}", float(up(GRID.nats(j))), note))
    if len(declared.forms) > 1:
        prices.append(one_of("form", len(declared.forms)))
    λ = FORMS[choices.form].price(option)
    prices += [] if λ is None else [λ]
    if declared.among > 1:
        prices.append(one_of("method", declared.among))
    return Bill(declared.delta, tuple(prices)), Q.divergences(s)


def _bound(
    Q: Posterior, n: int, declared: PacBayesDeclared, choices: PacBayesChoices, q: float
) -> float:
    bill, parts = _bill(Q, declared, choices)
    nats = float(up(digits.up(math.fsum(parts.values())) + bill.log_confidence))
    return FORMS[choices.form].bound(q, nats, n, choices.option)


def _of_prior(Q: Posterior) -> tuple[str, ...]:
    if not isinstance(Q.prior, Learned):
        return ("the prior has not seen the data",)
    return (
        f"the prior was learned from the first {Q.prior.prefix} examples of the split by seed "
        f"{Q.prior.split} and has seen no others; those are not counted",
        "the seed of the split was fixed before the data, and the prior's learner did not use it",
    )


def _advice(
    form: PacBayesForm,
    option: int,
    q: float,
    divergence: float,
    nats: float,
    n: int,
    erring: int,
    N: int,
) -> tuple[str, ...]:
    """What would lower the number, most first."""
    lower = [
        (form.bound(q, nats - divergence / 2, n, option), "half the divergence of Q from P"),
        (form.bound(q, nats, 2 * n, option), "twice the examples at the same errors"),
        (form.bound(erring / N, nats, n, option), "more pairs: at the observed error of the draws"),
    ]
    why = f"{divergence:.1f} of {nats:.1f} nats are divergence; {erring} of {N} pairs err"
    lower.sort(key=lambda pair: pair[0])
    return (why, *(f"{how} would give {digits.near(value):.3g}" for value, how in lower))

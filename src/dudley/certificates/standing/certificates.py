"""The certificates of one model, at confidence 1 − δ together, and the term to blame in each.

Hold-out, norm-cover, Occam and PAC-Bayes are claimed at δ/k each, so that all numbers hold at once.
Two of them are about other models, and their rows say so: where no short code describes the
weights, Occam's is about the model after `compress`; PAC-Bayes is about a posterior of its own,
fitted to the same network and data.

Every number is v(share of errors, c, n) for a c that is a sum of nats. The term to blame is the one
without which the number would fall most: one of those nats, or the errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dudley.calculus.inversion import kl_upper
from dudley.certificates.auto import HOLD_OUT, at_share, expect_apart
from dudley.certificates.base import method_named
from dudley.certificates.certificate import Certificate
from dudley.certificates.data import Dataset
from dudley.certificates.fit import posterior
from dudley.certificates.fit.quantised import compress
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.norm_cover.declared import NormCoverFacts
from dudley.certificates.methods.pac_bayes.declared import PacBayesFacts
from dudley.certificates.methods.pac_bayes.form import FORMS
from dudley.certificates.methods.pac_bayes.monte_carlo import errors_of_pairs
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.standing.least import least
from dudley.certificates.standing.row import StandingRow
from dudley.core.bound import Sense
from dudley.core.errors import InputError
from dudley.core.watch import Watch

SHOWN = (
    HOLD_OUT,
    "norm-cover",
    "occam",
    "pac-bayes",
)  # fixed before the data: each at its share of δ
TIME = "time"  # the culprit of a row that was left out
PLAN = posterior.PosteriorTraining(steps=1500, batch=1024)
ITSELF, COMPRESSED = "this model", "this model with its weights quantised"
DRAWN = "weights drawn from a posterior on the same network and data"
DeclaredByMethod = Mapping[str, Mapping[str, Any]]
NumberFormula = Callable[[float, float, float], float]  # share of errors, c, n


def certificates(
    model: Hypothesis,
    train: Dataset,
    test: Dataset | None,
    delta: float,
    guess: float,
    declared: DeclaredByMethod,
    plan: posterior.PosteriorTraining = PLAN,
    watch: Watch | None = None,
) -> list[StandingRow]:
    """One row a method; without a test set there is no hold-out."""
    watch = watch or Watch()
    names = [name for name in SHOWN if test is not None or name != HOLD_OUT]
    odd = [name for name in declared if name not in names]
    if odd:
        raise InputError("declared", f"methods among {', '.join(names)}", odd[0])
    if test is not None:
        expect_apart(train, test)
    rows = []
    for name in names:
        table = at_share(declared.get(name, {}), delta, len(names))
        data = test if name == HOLD_OUT and test is not None else train
        kind = "baseline" if name == HOLD_OUT else "certificate"
        watch.begin(name)
        try:
            certified = _certify(name, model, data, table, plan, watch)
        except InputError as refusal:
            rows.append(StandingRow(name, kind, culprit="refused", refused=str(refusal)))
            continue
        if certified is None:
            rows.append(StandingRow(name, kind, culprit=TIME, refused=watch.remark))
            continue
        about, judged, certificate = certified
        row = _row(certificate, kind, about, count_errors(judged, test), guess)
        rows.append(replace(row, note=watch.remark))
    return rows


def _certify(
    name: str, model: Hypothesis, data: Dataset, table: dict[str, Any], plan, watch: Watch
):
    """Whose certificate it is, that model, and the certificate; none where time is up."""
    method = method_named(name)
    if method.randomised:
        fit = partial(posterior.fit, plan=plan, look=watch.look)
        step = f"a posterior in {plan.steps:,} steps"
        Q = watch.do(step, partial(fit, model.tables, model.encoding_table, data))
        return None if Q is None else (DRAWN, Q, method(Q, data, **table))
    try:
        return ITSELF, model, method(model, data, **table)
    except InputError:
        if name != "occam":
            raise
    small = compress(model, data, watch=watch, **table)
    watch.say("the compressed model")
    return COMPRESSED, small, method(small, data, **table)


def count_errors(model: Hypothesis | Posterior, test: Dataset | None) -> dict[str, Any]:
    """Errors on the test set; of a posterior, one draw of weights for each example."""
    if test is None:
        return {}
    if isinstance(model, Posterior):
        return {"errors": errors_of_pairs(model, test, test.n), "n": test.n}
    return {"errors": int((model.margins(test) <= 0).sum()), "n": test.n}


def _row(
    certificate: Certificate, kind: str, about: str, measured: dict[str, Any], guess: float
) -> StandingRow:
    terms, share, number = _parts(certificate)
    c, n = math.fsum(terms.values()), certificate.facts.n
    culprit, blame = _blame(terms, share, number, n)
    n_needed = least(lambda m: number(share, c, m), guess)
    return StandingRow(
        certificate.method,
        kind,
        about=about,
        value=certificate.value,
        needed={} if n_needed is None else {"value": n_needed},
        sense=Sense.CONFIDENCE.value,
        terms=terms,
        culprit=culprit,
        blame=blame,
        tested=measured,
    )


def _parts(certificate: Certificate) -> tuple[dict[str, float], float, NumberFormula]:
    """The nats by name, the share of errors, and the number they make."""
    facts = certificate.facts
    terms: dict[str, float] = {}
    if isinstance(facts, NormCoverFacts) and facts.log_cover is not None:
        plain = _last([b.block for b in facts.blocks])
        terms |= {f"the cover of {plain[b.block]}": b.log_size for b in facts.blocks}
        terms["the cover of what is left"] = facts.log_cover - math.fsum(terms.values())
    if isinstance(facts, PacBayesFacts):
        plain = _last(list(facts.divergences))
        terms |= {f"the divergence of {plain[n]}": v for n, v in facts.divergences.items()}
    for price in certificate.prices:
        name = {"code": "the code", "method": "the choice of the method"}.get(price.name)
        name = name or "what was read off or chosen"
        terms[name] = terms.get(name, 0.0) + price.nats
    terms["ln(1/δ)"] = -math.log(certificate.delta)
    terms = {name: nats for name, nats in terms.items() if nats > 0}
    if isinstance(facts, PacBayesFacts):
        form, option = FORMS[certificate.choices.form], certificate.choices.option
        q = facts.mean_error_at_most
        return terms, q, lambda share, c, n: form.bound(share, c, round(n), option)
    errors = facts.errors_at_margin if isinstance(facts, NormCoverFacts) else facts.errors
    return terms, errors / facts.n, lambda share, c, n: kl_upper(share, c / n)


def _last(paths: list[str]) -> dict[str, str]:
    """The last part of each path in the network, where these differ.

    >>> _last(["0.v", "0.W_v"]), _last(["0.v", "1.v"])
    ({'0.v': 'v', '0.W_v': 'W_v'}, {'0.v': '0.v', '1.v': '1.v'})
    """
    ends = {path: path.rpartition(".")[2] for path in paths}
    return ends if len(set(ends.values())) == len(paths) else {path: path for path in paths}


def _blame(terms: dict[str, float], share: float, number: NumberFormula, n: int) -> tuple[str, str]:
    """What is to blame: in a few words, and with its numbers."""
    c = math.fsum(terms.values())
    without = {name: number(share, c - nats, n) for name, nats in terms.items()}
    first = min(without, key=lambda name: without[name])
    clean = number(0.0, c, n)
    if share > 0 and clean < without[first]:
        return f"errors, {share:.3g}", f"a share of errors of {share:.3g}: without them {clean:.2g}"
    why = f"{first} is {terms[first]:.3g} of {c:.3g} nats: without it {without[first]:.2g}"
    return f"{first}, {100 * terms[first] / c:.0f} % of the nats", why

"""PAC-Bayes: priors, files and the method; verify sees every change."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import math

import numpy as np
import pytest

from certificates.posteriors import copies, learned, posterior
from dudley.calculus.inversion import binomial_upper
from dudley.certificates.data import Dataset
from dudley.certificates.methods.pac_bayes import monte_carlo
from dudley.certificates.methods.pac_bayes.forms.kl import KL
from dudley.certificates.methods.pac_bayes.method import PacBayes
from dudley.certificates.methods.pac_bayes.posterior import Posterior, load
from dudley.certificates.methods.pac_bayes.prior import Learned, Seeded, Zero, prior_of, split
from dudley.certificates.records import to_json
from dudley.certificates.verify import verify
from dudley.core.errors import DudleyError, InputError
from each import each

# -- priors and files -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["zero", "seeded", "learned"])
def test_a_file_is_read_as_it_was_written(tmp_path, kind):
    data = copies(100)
    prior = {"zero": Zero(), "seeded": Seeded(3, 0.1)}.get(kind)
    Q = learned(data, 40) if prior is None else posterior(prior=prior)
    Q.save(tmp_path / "q.safetensors")
    again = load(tmp_path / "q.safetensors")
    assert again.sha256 == Q.sha256 and again.prior_sha256 == Q.prior_sha256
    assert again.prior.to_json() == Q.prior.to_json()
    s = {name: 0.7 for name in Q.mean.shapes}
    assert again.divergences(s) == Q.divergences(s)


def test_a_learned_prior_that_is_the_posterior_costs_nothing():
    Q = learned(copies(100), 40)
    assert sum(Q.divergences({name: 1.0 for name in Q.mean.shapes}).values()) < 1e-12


def test_files_that_are_not_posteriors_are_refused(tmp_path):
    posterior().mean.save(tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"dudley\.posterior/1"):
        load(tmp_path / "model.safetensors")
    (tmp_path / "broken.safetensors").write_bytes(b"no such thing")
    with pytest.raises(InputError):
        load(tmp_path / "broken.safetensors")
    with pytest.raises(InputError, match="no file"):
        load(tmp_path / "none.safetensors")


@pytest.mark.parametrize(
    "prior, arrays",
    [
        ({"kind": "zero"}, {"prior.mean.0.v": np.zeros((5, 1))}),  # weights that saw who knows what
        ({"kind": "seeded", "seed": 1}, {}),
        ({"kind": "seeded", "seed": "x", "size": 1.0}, {}),
        ({"kind": "learned", "prefix": 0, "split": 0, "seen": ""}, {}),
        ({"kind": "pretrained"}, {}),
    ],
)
def test_priors_of_no_known_origin_are_refused(prior, arrays):
    with pytest.raises(DudleyError):
        prior_of(prior, arrays)


def test_posteriors_with_wrong_deviations_are_refused():
    Q = posterior()
    for bad in (
        np.zeros((5, 1)),
        np.full((5, 1), np.inf),
        np.ones((1, 5)),
        np.ones((5, 1), np.float32),
    ):
        with pytest.raises(InputError):
            Posterior(Q.mean, Q.sigma | {"0.v": bad}, Zero())
    with pytest.raises(InputError):
        Posterior(Q.mean, {"0.v": Q.sigma["0.v"]}, Zero())
    with pytest.raises(InputError):
        Posterior(Q.mean, Q.sigma, Learned(3, 0, "", dict(Q.weights), {"0.v": Q.sigma["0.v"]}))


# -- the method -------------------------------------------------------------------------------

QUICK = {"pairs": 2000}


def test_the_number_is_the_form_at_the_bill():
    Q, data = posterior(), copies(1000)
    certificate = PacBayes()(Q, data, delta=0.1, share=0.2, **QUICK)
    j = certificate.choices.scales
    nats = {n: math.log(1.5 * (abs(i) + 1) * (abs(i) + 2)) for n, i in j.items()}
    s = {n: 2 ** (i / 2) for n, i in j.items()}
    total = sum(Q.divergences(s).values()) + sum(nats.values()) - math.log(0.1 * 0.8)
    q = binomial_upper(certificate.facts.erring_pairs, 2000, -math.log(0.1 * 0.2))
    assert certificate.facts.mean_error_at_most == pytest.approx(q, rel=1e-12)
    assert certificate.value == pytest.approx(KL().bound(q, total, 1000), rel=1e-8)
    assert certificate.value >= KL().bound(q, total, 1000) * (1 - 1e-13)
    assert "drawn from its posterior" in certificate.quantity
    assert any("nothing is said of the model with the mean" in t for t in certificate.declarations)
    assert "divergence" in certificate.advice[0] and len(certificate.advice) == 4


def test_the_scales_chosen_are_the_cheapest_of_the_grid():
    Q, data = posterior(σ=0.3), copies(200)
    certificate = PacBayes()(Q, data, **QUICK)
    for name, j in certificate.choices.scales.items():
        for other in (j - 1, j + 1):
            scales = certificate.choices.scales | {name: other}
            choices = dataclasses.replace(certificate.choices, scales=scales)
            assert (
                PacBayes().certify(Q, data, certificate.declared, choices).value
                >= certificate.value
            )


def test_forms_methods_and_the_grid_are_paid_for():
    Q, data = posterior(), copies(1000)
    alone = PacBayes()(Q, data, forms=["kl"], **QUICK)
    both = PacBayes()(Q, data, forms=["kl", "quadratic"], **QUICK)
    assert both.choices.form == "kl"
    assert both.bill.nats == pytest.approx(alone.bill.nats + math.log(2))
    catoni = PacBayes()(Q, data, forms=["catoni"], **QUICK)
    assert any(price.name.startswith("λ") for price in catoni.prices)
    among = PacBayes()(Q, data, among=4, **QUICK)
    assert among.bill.nats == pytest.approx(alone.bill.nats + math.log(4))
    assert among.facts.mean_error_at_most > alone.facts.mean_error_at_most
    single = PacBayes()(Q, data, grid="one", **QUICK)
    assert sum("prior scale" in price.name for price in single.prices) == 1
    none = PacBayes()(Q, data, grid="none", scale=0.5, **QUICK)
    assert [price.name for price in none.prices] == ["δ for the draws"]


def test_a_learned_prior_counts_the_examples_it_has_not_seen():
    data = copies(1000)
    Q = learned(data, 400)
    certificate = PacBayes()(Q, data, prior=Q.prior.to_json(), grid="none", **QUICK)
    assert (certificate.facts.n, certificate.facts.seen_by_prior) == (600, 400)
    rest = split(data, 400, 0)[1]
    assert certificate.facts.erring_pairs == monte_carlo.errors_of_pairs(Q, rest, 2000)
    assert certificate.facts.divergence < 1e-9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda data: Dataset(data.X, 1 - data.y),  # the counted ones may have been seen
        lambda data: data.part(slice(1, None)),
        lambda data: data.part(slice(0, 400)),
    ],
)
def test_a_learned_prior_refuses_other_examples_in_its_place(wrong):
    data = copies(1000)
    Q = learned(data, 400)
    with pytest.raises(InputError, match="prior"):
        PacBayes()(Q, wrong(data), prior=Q.prior.to_json(), **QUICK)


@each(
    "declared",
    [
        {"prior": {"kind": "learned", "prefix": 10, "split": 0}},
        {"prior": {"kind": "seeded", "seed": 0, "size": 0.1}},
        {"grid": "many"},
        {"scale": 0.0},
        {"share": 1.0},
        {"forms": []},
        {"forms": ["kl", "kl"]},
        {"forms": ["mcallester"]},
        {"forms": "kl"},
        {"pairs": 0},
        {"seed": 3},
    ],
)
def test_what_is_declared_wrongly_is_refused(declared):
    with pytest.raises(DudleyError):
        PacBayes()(posterior(), copies(50), **(QUICK | declared))


def test_what_the_prior_cannot_know_is_listed_as_declared():
    listed = PacBayes()(posterior(), copies(50), **QUICK).declarations
    assert "the network and the encoding were fixed before the data" in listed


def test_one_model_is_refused():
    with pytest.raises(InputError, match="posterior"):
        PacBayes()(posterior().mean, copies(50), **QUICK)


@pytest.mark.parametrize(
    "change",
    [
        {"form": "catoni"},
        {"option": 1},
        {"option": False},
        {"option": 0.0},
        {"scales": {"0.v": True, "0.W_v": 0}},
        {"scales": {"0.v": 0}},
        {"scales": {"0.v": 61, "0.W_v": 0}},
        {"more": 1},
    ],
)
def test_choices_outside_their_lists_are_refused(change):
    Q, data = posterior(), copies(50)
    certificate = PacBayes()(Q, data, **QUICK)
    with pytest.raises(DudleyError):
        choices = PacBayes().read_choices(to_json(certificate.choices) | change)
        PacBayes().certify(Q, data, certificate.declared, choices)


def leaves(value, path=()):
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))
    else:
        yield path, value


@pytest.mark.parametrize("forms", [["kl"], ["kl", "catoni"]])
def test_verify_finds_the_same_and_every_change(forms, tmp_path):
    data = copies(400)
    learned(data, 100).save(tmp_path / "q.safetensors")
    Q = load(tmp_path / "q.safetensors")
    made = PacBayes()(Q, data, prior=Q.prior.to_json(), forms=forms, pairs=500)
    record = json.loads(made.text())
    assert verify(record, Q, data).holds
    for path, value in leaves(record):
        if path[0] in ("declared", "provenance", "schema"):
            continue
        changed = copy.deepcopy(record)
        parent = changed
        for key in path[:-1]:
            parent = parent[key]
        if isinstance(value, bool):
            parent[path[-1]] = not value
        elif isinstance(value, str):
            parent[path[-1]] = "kl" if value == "catoni" else value + "x"
        else:
            parent[path[-1]] = value * 1.001 if isinstance(value, float) and value else value + 1
        with contextlib.suppress(DudleyError):
            assert not verify(changed, Q, data).holds, path
    moved = Posterior(Q.mean, Q.sigma | {"0.v": Q.sigma["0.v"] * 1.0001}, Q.prior)
    assert not verify(record, moved, data).holds

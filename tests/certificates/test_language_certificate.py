"""Certificates of language models: made, computed again, and refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

from certificates.language_toys import TINY, random_weights, sentences, zeros
from dudley.certificates.methods.language.certificate import SIZES, certify, held_out, recheck
from dudley.certificates.methods.language.coded import Coded
from dudley.certificates.methods.language.gpt import Gpt
from dudley.certificates.methods.language.smoothing import ENTRIES
from dudley.core.errors import InputError, UnknownName


@pytest.fixture(scope="module")
def fitted():
    pytest.importorskip("torch")
    from dudley.certificates.methods.language.fit import CodeTraining, fit

    corpus, rest = sentences(12_000).split(10_000, 0)
    recipe = CodeTraining(steps=250, batch=32, rate=1e-2, q=2, price=1e-3)
    return fit(TINY, corpus, recipe), corpus, rest


def test_guessing_is_vacuous():
    certificate = certify(zeros(TINY), sentences(500))
    assert certificate.facts.mean_loss == pytest.approx(5, abs=1e-3)
    assert certificate.value >= 5 and certificate.vacuous and "vacuous" in certificate.advice[0]


def test_a_fitted_model_is_certified_below_guessing(fitted):
    model, corpus, rest = fitted
    certificate = certify(model, corpus)
    assert certificate.facts.mean_loss < certificate.value < 5 and not certificate.vacuous
    assert (
        certificate.value < certificate.facts.other_forms.kl < certificate.facts.other_forms.sublora
    )
    smoothing = ENTRIES[certificate.choices.smoothing]
    outside = held_out(model, smoothing, rest, 0.05)
    assert outside["mean_loss"] < certificate.value and outside["mean_loss"] < outside["at_most"]
    again = [price for price in certificate.prices if price.name == "code"]
    assert again[0].nats == pytest.approx(model.word.length * math.log(2))
    assert {price.name for price in certificate.prices} == {
        *("code", "domain", "architecture", "smoothing", "bet")
    }


def test_part_of_the_documents_is_drawn_by_the_model(fitted):
    model, corpus, _ = fitted
    whole, part = certify(model, corpus), certify(model, corpus, evaluated=2000)
    assert whole.value < part.value < 5
    assert part.facts.evaluated == 2000 and "draw" in {price.name for price in part.prices}
    assert recheck(part.to_json(), corpus) == []
    with pytest.raises(InputError, match="place"):
        certify(model, corpus, replace(part.choices, place=1), evaluated=2000)
    with pytest.raises(UnknownName):
        certify(model, corpus, evaluated=2000, draw_seed=3)


def test_everything_is_computed_again(fitted):
    model, corpus, _ = fitted
    corpus = corpus.part(np.arange(400))
    certificate = certify(model, corpus, delta=0.01).to_json()
    assert recheck(certificate, corpus) == []
    for name in ("value", "nats", "vacuous", "quantity", "delta"):
        assert recheck(certificate | {name: 0.123}, corpus) == [name]
    for name in ("facts", "model", "data", "baseline"):
        for key in certificate[name]:
            assert recheck(certificate | {name: certificate[name] | {key: "other"}}, corpus) == [
                name
            ]
    less = certificate | {"declared": certificate["declared"] | {"delta": 0.02}}
    assert "value" in recheck(less, corpus)
    assert "data" in recheck(certificate, corpus.part(np.arange(corpus.n - 1)))


def test_what_does_not_fit_is_refused(fitted):
    model, corpus, _ = fitted
    with pytest.raises(InputError, match="corpus"):
        certify(zeros(Gpt(V=32, T=16, d=8, heads=2, window=4, width=16)), corpus)
    with pytest.raises(InputError, match="width"):
        certify(zeros(Gpt(V=32, T=24, d=8, heads=2, window=4, width=12)), corpus)
    with pytest.raises(InputError, match="smoothing"):
        certify(model, corpus, replace(certify(model, corpus).choices, smoothing=16))
    with pytest.raises(InputError, match="evaluated"):
        certify(model, corpus, evaluated=corpus.n + 1)
    with pytest.raises(InputError, match="short step"):
        Coded.of(TINY, random_weights(TINY))
    assert math.prod(map(len, SIZES.values())) == 2**17


@pytest.mark.parametrize("rank", [0, 1])
def test_a_point_of_a_random_subspace(rank):
    pytest.importorskip("torch")
    from dudley.certificates.methods.language.fit import CodeTraining, fit_subspace

    with pytest.raises(InputError, match="D and L"):
        fit_subspace(TINY, sentences(20), CodeTraining(), 123)
    corpus, seen = sentences(2000), []
    recipe = CodeTraining(steps=80, batch=32, rate=5e-2, q=3, price=0.0, shrink=0.0)
    model = fit_subspace(TINY, corpus, recipe, 100, rank, lambda i, loss: seen.append(loss))
    assert model.kind == "subspace" and model.word.length < 330
    certificate = certify(model, corpus)
    assert 100 in certificate.declared.dimensions and certificate.facts.mean_loss < seen[0]
    assert recheck(certificate.to_json(), corpus) == []

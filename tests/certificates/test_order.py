"""Nothing depends on the order of a file, and nothing that was hashed can change."""

import numpy as np
import pytest

from certificates.language_toys import frequencies, sentences
from certificates.posteriors import HEAD, copies, learned, posterior
from certificates.validity import reader
from dudley.calculus.inversion import binomial_upper
from dudley.certificates import order
from dudley.certificates.base import method_named
from dudley.certificates.clipping import clipping_prices
from dudley.certificates.data import Dataset
from dudley.certificates.encodings import Blocks
from dudley.certificates.fit.posterior import PosteriorTraining, fit
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.language.certificate import certify as certify_language
from dudley.certificates.methods.norm_cover.method import NormCover
from dudley.certificates.methods.pac_bayes import monte_carlo
from dudley.certificates.methods.pac_bayes.method import PacBayes
from dudley.certificates.methods.pac_bayes.prior import Learned, split
from dudley.core.errors import InputError

BITS = 12


def noisy(n: int, risk: float, seed: int = 0) -> Dataset:
    """Bit 0 is the label, wrong with this probability; the other bits are coins."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 2, (n, BITS)).astype(np.uint8)
    X[:, 0] = y ^ (rng.random(n) < risk)
    return Dataset(X, y)


def test_orders_and_draws_are_uniform_and_known():
    assert order.permutation("x", 6).tolist() == order.permutation("x", 6).tolist()
    assert sorted(order.permutation("x", 1000)) == list(range(1000))
    first = [order.permutation(f"seed {i}", 4)[0] for i in range(4000)]
    assert np.abs(np.bincount(first) - 1000).max() < 4 * 28
    places = order.draw("x", 40_000, 10)
    assert np.abs(np.bincount(places) - 4000).max() < 4 * 60


@pytest.mark.parametrize("name", ["hold-out", "norm-cover", "occam", "pac-bayes", "learned"])
def test_a_certificate_does_not_depend_on_the_order_of_the_file(name):
    data = noisy(600, 0.1)
    shuffled = data.part(np.random.default_rng(1).permutation(data.n))
    if name == "learned":
        data, shuffled = (Dataset(d.X[:, :2], d.y) for d in (data, shuffled))
        model, name = learned(data, 200), "pac-bayes"
        declared = {"prior": model.prior.to_json(), "pairs": 500}
    else:
        model = posterior(T=BITS) if name == "pac-bayes" else reader(BITS, 0)
        declared = {"pairs": 500} if name == "pac-bayes" else {}
    method = method_named(name)
    assert (
        method(model, data, **declared).to_json() == method(model, shuffled, **declared).to_json()
    )


def test_erring_rows_cannot_be_moved_to_where_a_prior_has_seen_them():
    """With the first rows of the file as the prior's share, errors counted would be 0."""
    data, prefix = noisy(1000, 0.15), 400
    wrong = data.X[:, 0] != data.y
    moved = data.part(np.argsort(~wrong, kind="stable"))
    assert not (moved.X[prefix:, 0] != moved.y[prefix:]).any()  # what a split by file would count
    rest = split(moved, prefix, 0)[1]
    errors = int((rest.X[:, 0] != rest.y).sum())
    assert binomial_upper(errors, rest.n, np.log(1e9)) > 0.15 and errors > 0.09 * rest.n


def test_sorted_classes_are_mixed_before_a_prior_is_learned():
    """Class by class in the file: a prior of the first class, counted on the second, or so."""
    data = noisy(1000, 0.5)
    by_class = data.part(np.argsort(data.y, kind="stable"))
    seen, rest = split(by_class, 300, 0)
    assert 0.4 < seen.y.mean() < 0.6 and 0.4 < rest.y.mean() < 0.6


def test_signs_of_zeros_cannot_move_rows_to_where_a_prior_has_seen_them():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 2)) * rng.integers(0, 2, (300, 2))
    signed = np.where(X == 0, rng.choice([-0.0, 0.0], X.shape), X)
    data, turned = (Dataset(rows, np.arange(300)) for rows in (X, signed))
    assert np.signbit(signed[signed == 0]).any()
    assert data.sha256 == turned.sha256
    assert (split(data, 100, 0)[0].y == split(turned, 100, 0)[0].y).all()


def test_labels_and_order_cannot_be_fitted_to_the_draws_of_the_rows():
    """Coin-flip labels that agree wherever draws by the posterior's hash alone would look."""
    T, N = 10, 300
    Q = posterior(T=T, σ=2.0**-20)
    X = np.unique(np.random.default_rng(2).integers(0, 2, (900, T)).astype(np.uint8), axis=0)
    honest = Dataset(X, X[:, 0].astype(np.int64))
    looked_at = np.unique(order.canonical(X)[monte_carlo.examples(Q, honest, np.arange(N))])
    y = 1 - X[:, 0].astype(np.int64)
    y[looked_at] = 1 - y[looked_at]  # right where the draws of the honest data fall
    forged = Dataset(X, y)
    risk = float((y != X[:, 0]).mean())
    assert risk > 0.5
    assert monte_carlo.errors_of_pairs(Q, forged, N) > 0.8 * risk * N


def test_evaluated_documents_cannot_be_arranged():
    corpus = sentences(600)
    model = frequencies(corpus)
    back = corpus.part(slice(None, None, -1))
    made, again = (certify_language(model, docs, evaluated=300) for docs in (corpus, back))
    assert made.to_json() == again.to_json()
    assert corpus.sha256 == back.sha256


def test_the_draw_of_documents_pays_for_the_smoothing_and_for_the_method():
    corpus = sentences(4000)
    model = frequencies(corpus)
    alone = certify_language(model, corpus, evaluated=800)
    among = certify_language(model, corpus, evaluated=800, among=10**6)
    assert among.value > alone.value
    with pytest.raises(InputError, match="place"):  # what one of a million does not certify
        certify_language(model, corpus, alone.choices, evaluated=800, among=10**6)


def test_a_language_model_must_beat_symbol_frequencies():
    """Guessing costs 5 bits here; below it, but not below frequencies, says nothing."""
    corpus = sentences(3000)
    certificate = certify_language(frequencies(corpus), corpus)
    assert corpus.unigram() < certificate.value < corpus.uniform()
    assert certificate.vacuous and "vacuous" in certificate.advice[0]
    assert certificate.baseline["error_at_least"] < certificate.baseline["unigram"]


def test_frequencies_of_new_documents_cost_at_least_what_is_said():
    whole = sentences(6000)
    truth, fails = whole.unigram(), 0
    for i in range(40):
        part = whole.part(np.random.default_rng(i).choice(whole.n, 300, replace=False))
        fails += part.unigram_at_least(0.1) > truth
    assert fails <= 4


def test_weights_and_data_cannot_change_under_a_certificate():
    model, data = reader(3, 0), noisy(500, 0.0)
    data = Dataset(data.X[:, :3], data.y)
    W = dict(model.weights)["0.W_v"].copy()
    mutable = Hypothesis(model.tables, model.encoding_table, {**model.weights, "0.W_v": W})
    before = NormCover()(mutable, data)
    W *= -1.0  # whoever built the model still holds this array
    assert NormCover()(mutable, data).to_json() == before.to_json()
    with pytest.raises(ValueError):
        mutable.weights["0.W_v"][:] = 0.0
    with pytest.raises(TypeError):
        mutable.weights["0.W_v"] = W  # pyright: ignore
    with pytest.raises(ValueError):
        data.y[:] = 0
    turned = Hypothesis(model.tables, model.encoding_table, {**model.weights, "0.W_v": W})
    assert NormCover()(turned, data).facts.errors == data.n
    X = np.zeros((4, 3), np.uint8)
    dataset = Dataset(X, np.zeros(4, np.int64))
    X[:] = 1
    assert not dataset.X.any()


def test_a_learned_prior_cannot_change_under_its_hash():
    like, centre = posterior(), {name: W.copy() for name, W in posterior().weights.items()}
    prior = Learned(100, 0, "", centre, dict(like.sigma))
    centre["0.W_v"] += 1.0  # whoever learned the prior still holds this array
    assert (prior.mean["0.W_v"] == like.weights["0.W_v"]).all()
    with pytest.raises(ValueError):
        prior.scale["0.W_v"][:] = 1.0
    with pytest.raises(TypeError):
        prior.mean["0.W_v"] = centre["0.W_v"]  # pyright: ignore


@pytest.mark.parametrize("name", ["norm-cover", "occam", "pac-bayes"])
def test_a_radius_read_off_the_training_data_is_refused(name):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 1, 2))
    data = Dataset(X, (X[:, 0, 0] > 0).astype(np.int64))
    largest = float(np.sqrt((X**2).sum(-1)).max())

    def clipped(R):
        inputs = {"T": 1, "d": 2, "X": {"row2inf": R}}
        tables = {"schema": "dudley.net/1", "input": inputs, "layer": [HEAD]}
        encoding = {"name": "rows", "T": 1, "d": 2, "R": R}
        weights = {"0.v": np.zeros((2, 1)), "0.W_v": np.array([[1.0], [0.0]])}
        if name != "pac-bayes":
            return Hypothesis(tables, encoding, weights)
        return fit(tables, encoding, data, plan=PosteriorTraining(steps=2, batch=16))

    method, quick = method_named(name), {"pairs": 200} if name == "pac-bayes" else {}
    with pytest.raises(InputError, match="clipped: expected a power of two"):
        method(clipped(largest), data, **quick)
    paid = method(clipped(4.0), data, **quick)
    assert "radius" in {price.name for price in paid.prices}
    free = method(clipped(4.0), data, radius=4.0, **quick)
    assert "radius" not in {price.name for price in free.prices}
    with pytest.raises(InputError, match="declared radius"):
        method(clipped(4.0), data, radius=3.0, **quick)


def test_a_declared_radius_of_no_clipping_is_refused():
    """Else a certificate would list a radius that the model does not have."""
    with pytest.raises(InputError, match="expected none: the encoding clips nothing, got 3"):
        method_named("occam")(reader(BITS, 0), noisy(100, 0.0), radius=3.0)
    pictures = Blocks(4, 2, 2, 255.0)
    assert clipping_prices(pictures, None) == clipping_prices(pictures, 255.0) == ()
    with pytest.raises(InputError, match="that of the encoding, 255"):
        clipping_prices(pictures, 3.0)


def test_pac_bayes_on_data_it_was_not_told_of_counts_them_anew():
    Q = posterior()
    first, second = copies(300), copies(300, seed=1)
    assert PacBayes()(Q, first, pairs=300).facts != PacBayes()(Q, second, pairs=300).facts

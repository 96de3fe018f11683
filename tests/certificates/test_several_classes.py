"""Several classes: margins, slopes and fits, certified and verified; what a number may not hide."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dudley.calculus.inversion import binomial_upper
from dudley.certificates.base import METHODS, method_named
from dudley.certificates.data import Dataset
from dudley.certificates.fit import posterior, sparse
from dudley.certificates.fit.heads import MOST_CLASSES, HeadFit, fit_head
from dudley.certificates.fit.recipes import tables, train_for
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.norm_cover.method import NormCover
from dudley.certificates.methods.norm_cover.terms import terms
from dudley.certificates.predictor import margins
from dudley.certificates.verify import verify
from dudley.core.errors import InputError

BITS, CLASSES, δ = 5, 3, 0.1
ENCODING = {"name": "bits", "T": BITS}
FEATURES = {"name": "rows", "T": 1, "d": 6, "R": 1.0}


@pytest.fixture(scope="module")
def sums() -> Dataset:
    """Three classes: how many of the first two bits are 1."""
    X = np.random.default_rng(0).integers(0, 2, (1500, BITS))
    return Dataset(X, X[:, 0] + X[:, 1])


@pytest.fixture(scope="module")
def clusters() -> Dataset:
    """Features of three classes, around three directions."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, CLASSES, 900)
    X = rng.standard_normal((900, 6)) + 9 * np.eye(6)[y]
    return Dataset(X / np.linalg.norm(X, axis=1, keepdims=True), y)


MODELS: dict[tuple[str, str], Any] = {}  # each is fitted once


def fitted(method: str, data: Dataset, encoding):
    known = method, data.sha256
    if known not in MODELS:
        MODELS[known] = fit(method, data, encoding)
    return MODELS[known]


def fit(method: str, data: Dataset, encoding):
    network = tables(encoding, data.classes)
    if method == "norm-cover":
        return fit_head(data, encoding, HeadFit(steps=120, polish=40, batch=256))
    if method == "occam":
        fewer = {"steps": 120, "searched": 400, "polished": 1, "levels": (2,)}
        return sparse.fit_sparse(network, encoding, data, foldings=[plain(network)], **fewer)
    plan = posterior.PosteriorTraining(steps=250, batch=256)
    return posterior.fit(network, encoding, data, plan=plan)


def plain(network) -> dict[str, str]:
    return dict.fromkeys(("0.v", "0.W_v"), "plain")


@pytest.mark.parametrize("encoding", [ENCODING, FEATURES], ids=["bits", "features"])
@pytest.mark.parametrize("method", ["norm-cover", "occam", "pac-bayes"])
def test_a_fit_of_three_classes_is_certified_and_verified(method, encoding, sums, clusters):
    data = sums if encoding is ENCODING else clusters
    model = fitted(method, data, encoding)
    certificate = method_named(method)(model, data)
    assert certificate.data["classes"] == CLASSES
    assert not certificate.vacuous and certificate.value < 0.45
    assert verify(certificate.to_json(), model, data).holds
    head = model if isinstance(model, Hypothesis) else model.mean
    assert head.weights["0.W_v"].shape[1] == CLASSES


def test_a_head_of_features_attends_to_nothing(clusters):
    """There is one row, so scores must cost nothing."""
    model = fitted("norm-cover", clusters, FEATURES)
    assert not model.weights["0.v"].any() and model.weights["0.W_v"].any()
    facts = NormCover()(model, clusters).facts
    assert [block.log_size for block in facts.blocks if block.block == "0.v"] in ([], [0.0])


def test_hold_out_counts_the_errors_of_three_classes(sums):
    model = fitted("norm-cover", sums, ENCODING)
    certificate = METHODS["hold-out"](model, sums)
    errors = int((model.outputs(sums.X).argmax(1) != sums.y).sum())
    assert certificate.facts.errors == errors + certificate.facts.ties


def test_what_is_vacuous_for_three_classes_is_called_so(sums):
    """Ten examples say nothing about a head of 33 weights, in any number of classes."""
    few = sums.part(slice(0, 10))
    certificate = NormCover()(fitted("norm-cover", sums, ENCODING), few)
    assert certificate.vacuous and certificate.to_json()["vacuous"]


def test_more_classes_than_a_head_may_have_are_refused():
    labels = np.array([0, MOST_CLASSES])
    with pytest.raises(InputError, match=f"classes: expected at most {MOST_CLASSES}"):
        train_for("occam", Dataset(np.array([[0, 1], [1, 1]]), labels), {"name": "bits", "T": 2}, 0)


# -- how far a margin moves ------------------


@pytest.mark.parametrize("K", [2, 3, 10])
def test_no_perturbation_moves_a_margin_farther_than_the_slopes_say(K):
    rng = np.random.default_rng(K)
    f, label = rng.standard_normal((4000, K)), rng.integers(0, K, 4000)
    for size in (1e-3, 1.0, 30.0):
        Δ = size * rng.standard_normal((4000, K))
        moved = np.abs(margins(f + Δ, label) - margins(f, label))
        assert (moved <= 2 * np.abs(Δ).max(1) * (1 + 1e-9) + 1e-12).all()
        assert (moved <= math.sqrt(2) * np.linalg.norm(Δ, axis=1) * (1 + 1e-9) + 1e-12).all()


def test_the_slopes_are_attained_so_smaller_ones_are_false():
    f, Δ = np.array([[1.0, 0.0, -5.0]]), np.array([[-0.25, 0.25, 0.0]])
    moved = float(abs(margins(f + Δ, np.array([0])) - margins(f, np.array([0])))[0])
    assert moved == 2 * np.abs(Δ).max() == 0.5
    assert math.isclose(moved, math.sqrt(2) * np.linalg.norm(Δ))


def test_the_slope_of_a_head_is_that_of_its_norm(sums):
    model = fitted("norm-cover", sums, ENCODING)
    declared = NormCover().read_declared({})
    assert terms(model, declared, "sparse").slope == pytest.approx(math.sqrt(2))
    logits = {"node": "logits", "V": CLASSES, "W": "free"}
    head = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": CLASSES}
    network = tables(ENCODING) | {"layer": [head | {"sigma": "identity"}, logits]}
    weights = dict(model.weights) | {"1.W": np.eye(CLASSES)}
    assert terms(Hypothesis(network, ENCODING, weights), declared, "sparse").slope == 2.0


# -- does it hold? ------------------


def test_the_certificate_of_the_best_of_many_heads_of_three_classes_holds():
    """T = 3 bits, three classes, noisy labels, eight heads; the least number of them is shown.

    log N and the prices do not depend on the draw; numbers are computed from them for each draw.
    The same heads without their prices and covers fail, so the toy can.
    """
    rng, T, n, noise, repeats = np.random.default_rng(4), 3, 60, 0.4, 400
    every = np.array(list(itertools.product([0, 1], repeat=T)))
    truth = every[:, 0] + every[:, 1]
    encoding, method = {"name": "bits", "T": T}, NormCover()
    declared = method.read_declared({"delta": δ, "norms": ["sparse"]})
    γ_index = -8
    γ = declared.margin_ratio**γ_index
    costs, signed = [], []
    for _ in range(40):
        v, u = np.zeros((2 * T + 1, 1)), rng.integers(-2, 3, (2 * T + 1, CLASSES)).astype(float)
        model = Hypothesis(tables(encoding, CLASSES), encoding, {"0.v": v, "0.W_v": u})
        at = terms(model, declared, "sparse")
        costs.append(at.cover(γ).log_size + method.bill(declared, at, γ_index).log_confidence)
        f = model.outputs(every)
        labels = np.tile(np.arange(CLASSES), (len(every), 1)).T
        signed.append(np.stack([margins(f, row) for row in labels], axis=1))
    signed = np.array(signed)  # head, input, label
    chance = np.full((len(every), CLASSES), noise / CLASSES)
    chance[np.arange(len(every)), truth] += 1 - noise
    risks = ((signed <= 0) * chance).sum(2).mean(1)
    failures = unpaid = 0
    for _ in range(repeats):
        x = rng.integers(0, len(every), n)
        y = np.where(rng.random(n) < noise, rng.integers(0, CLASSES, n), truth[x])
        counts, plain_errors = (signed[:, x, y] <= γ).sum(1), (signed[:, x, y] <= 0).sum(1)
        values = [
            binomial_upper(int(k), n, round(c, 6)) for k, c in zip(counts, costs, strict=True)
        ]
        best = int(np.argmin(values))
        failures += values[best] < risks[best]
        best = int(plain_errors.argmin())
        unpaid += binomial_upper(int(plain_errors[best]), n, -math.log(δ)) < risks[best]
    assert binom.sf(failures - 1, repeats, δ) > 0.01
    assert unpaid >= 2 * δ * repeats

"""Training for a PAC-Bayes certificate: the short cut is the network, the prior stays unseeing."""

from __future__ import annotations

import numpy as np
import pytest

from dudley.certificates.data import Dataset, rows_of
from dudley.certificates.fit.forward import blank
from dudley.certificates.fit.posterior import PosteriorTraining, _Examples, fit
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes.method import PacBayes
from dudley.certificates.methods.pac_bayes.monte_carlo import errors_of_pairs
from dudley.certificates.methods.pac_bayes.prior import split
from dudley.core.backend import torch
from dudley.core.errors import InputError

T = 6
TABLES = {
    "schema": "dudley.net/1",
    "input": {"T": T + 1, "V": 2 * T + 1},
    "layer": [
        {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1, "sigma": "identity"}
    ],
}
BITS = {"name": "bits", "T": T}


def conjunction(n: int, seed: int = 0) -> Dataset:
    X = np.random.default_rng(seed).integers(0, 2, (n, T)).astype(np.uint8)
    return Dataset(X, (X[:, 1] & X[:, 4]).astype(np.int64))


def weights(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape) for name, shape in blank(TABLES, BITS).shapes.items()}


def torched(arrays: dict[str, np.ndarray]):
    return {name: torch.from_numpy(W).float() for name, W in arrays.items()}


def test_the_short_cut_without_noise_is_the_reference_forward():
    w, data = weights(), conjunction(50)
    examples = _Examples(blank(TABLES, BITS), data)
    assert examples.head is not None
    still = {name: torch.full(W.shape, -60.0) for name, W in w.items()}
    f = examples.outputs(torch.arange(50), torched(w), still, torch.Generator().manual_seed(0))
    outputs = Hypothesis(TABLES, BITS, w).outputs(data.X)[:, 0]
    assert np.allclose(f.numpy()[:, 0], outputs, atol=1e-5)


def test_the_short_cut_and_whole_draws_have_one_distribution():
    """Of the output of one example, by the quantiles of many draws."""
    w, data, many = torched(weights()), conjunction(1), torch.zeros(40_000, dtype=torch.int64)
    log_σ = {name: torch.linspace(-2.0, 0.0, W.numel()).reshape(W.shape) for name, W in w.items()}
    examples, generator = _Examples(blank(TABLES, BITS), data), torch.Generator().manual_seed(1)
    short = examples.outputs(many, w, log_σ, generator).numpy()
    object.__setattr__(examples, "head", None)
    whole = examples.outputs(many, w, log_σ, generator).numpy()
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    spread = np.std(whole)
    assert np.allclose(np.quantile(short, levels), np.quantile(whole, levels), atol=0.04 * spread)


def test_a_fitted_posterior_has_a_certificate_that_says_something():
    data = conjunction(4000)
    Q = fit(TABLES, BITS, data, plan=PosteriorTraining(steps=500, batch=256))
    certificate = PacBayes()(Q, data, pairs=5000, scale=4.0)
    assert not certificate.vacuous and certificate.value < 0.03
    fresh = conjunction(2000, seed=1)
    assert errors_of_pairs(Q, fresh, 5000) / 5000 < certificate.value


def test_the_prior_has_not_seen_what_is_counted():
    data, plan = conjunction(600), PosteriorTraining(steps=30, batch=64)
    data = data.part(np.unique(data.X, axis=0, return_index=True)[1])  # each row once
    first = fit(TABLES, BITS, data, prefix=20, plan=plan, split=0)
    seen = rows_of(split(data, 20, 0)[0].X)
    unseen = np.array([row.tobytes() not in seen for row in data.X])
    other = Dataset(data.X, np.where(unseen, 1 - data.y, data.y))
    other = fit(TABLES, BITS, other, prefix=20, plan=plan, split=0)
    for name in first.prior.arrays:
        assert np.array_equal(first.prior.arrays[name], other.prior.arrays[name])
    assert first.prior_sha256 == other.prior_sha256 and first.sha256 != other.sha256
    certificate = PacBayes()(first, data, prior=first.prior.to_json(), pairs=200)
    assert certificate.facts.n == data.n - 20


def test_rows_are_fitted_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3, 4))
    data = Dataset(X, (X.mean((1, 2)) > 0).astype(np.int64))
    layer = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 2, "sigma": "relu"}
    tables = {
        "schema": "dudley.net/1",
        "input": {"T": 3, "d": 4, "X": {"row2inf": 5.0}},
        "layer": [layer],
        "output": {"w": "free"},
    }
    plan = PosteriorTraining(steps=200, batch=64)
    Q = fit(tables, {"name": "rows", "T": 3, "d": 4, "R": 5.0}, data, plan=plan)
    assert errors_of_pairs(Q, data, 1000) < 300


@pytest.mark.parametrize("bad", [{"steps": 0}, {"λ": -1.0}, {"τ": 0.0}])
def test_plans_that_cannot_be_are_refused(bad):
    with pytest.raises(InputError):
        PosteriorTraining(**bad)


def test_what_cannot_be_fitted_is_refused():
    data = conjunction(20)
    with pytest.raises(InputError, match="prefix"):
        fit(TABLES, BITS, data, prefix=20)
    with pytest.raises(InputError, match="an output for each of 3 classes"):
        fit(TABLES, BITS, Dataset(data.X, np.arange(20) % 3))

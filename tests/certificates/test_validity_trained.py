"""The simulation on trained models: its truths against oracles of their own, and a few repetitions.

The record itself is read by `test_records`.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dudley.certificates.data import Dataset
from dudley.certificates.fit.heads import tables
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes import monte_carlo
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.methods.pac_bayes.prior import Zero
from dudley.core.backend import torch
from dudley.core.philox import key, keys_tensor
from dudley.train.ensemble.base import Noise
from dudley.train.ensemble.registry import ENSEMBLES
from dudley.train.losses import LOSSES
from dudley.train.packed import pack

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "certificates"


@pytest.fixture
def validity(monkeypatch):
    """The benchmark; what it registers is forgotten afterwards."""
    for path in (FOLDER.parent, FOLDER):
        monkeypatch.syspath_prepend(str(path))
    for registry in (ENSEMBLES, LOSSES):
        monkeypatch.setattr(registry, "_units", dict(registry._units))
    import validity as benchmark

    return benchmark


def head(validity, seed: int, size: float = 1.0) -> Hypothesis:
    rng = np.random.default_rng(seed)
    shape = (2 * validity.T + 1, 1)
    W = {"0.v": size * rng.standard_normal(shape), "0.W_v": rng.standard_normal(shape)}
    return Hypothesis(tables(validity.BITS), validity.BITS, W)


def population(validity, hidden, n: int, seed: int) -> Dataset:
    """Uniform bits, the majority of three of them, one label in eight wrong."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, validity.T)).astype(np.uint8)
    y = (X[:, hidden].sum(axis=1) >= 2) ^ (rng.random(n) < 0.125)
    return Dataset(X, y.astype(np.int64))


def near(k: int, n: int, p: float) -> bool:
    return stats.binomtest(k, n, p).pvalue > 1e-4


def test_the_enumerated_risk_is_the_share_of_errors(validity):
    hidden, n = np.array([1, 4, 6]), 40_000
    for seed in (0, 1):
        model = head(validity, seed)
        data = population(validity, hidden, n, seed)
        assert near(int((model.margins(data) <= 0).sum()), n, validity.risk_of(model, hidden))


def test_the_risk_of_a_randomised_head_is_the_share_of_erring_pairs(validity):
    hidden, n = np.array([0, 2, 7]), 20_000
    mean = head(validity, 2)
    σ = {name: np.full(W.shape, 0.4) for name, W in mean.weights.items()}
    Q = Posterior(mean, σ, Zero())
    risk, error = validity.gibbs_risk(Q, hidden, 0)
    X, y = np.repeat(validity.INPUTS, 8, axis=0), np.repeat(validity.labels(hidden), 8)
    y = y ^ (np.arange(len(y)) % 8 == 0)  # the population itself, as a data set
    assert near(monte_carlo.errors_of_pairs(Q, Dataset(X, y), n), n, risk)
    assert 0 < error < 0.005


def test_ensembles_compute_what_is_certified(validity):
    from validity_heads import Heads, RandomHeads

    trained = head(validity, 3)
    bits = pack(torch.from_numpy(validity.INPUTS.astype(np.int64)))[None]
    W = {f"weights.{n}": torch.tensor(w)[None] for n, w in trained.weights.items()}
    f = Heads(validity.T).forward(W, bits)[0]
    assert np.allclose(f.numpy(), trained.outputs(validity.INPUTS), atol=1e-12)

    log_σ, n = math.log(0.3), 50
    W = {
        f"{part}.{name}": torch.tensor(trained.weights[f"0.{name}"])[None] * (part == "mean")
        + log_σ * (part != "mean")
        for part in ("mean", "log_sigma")
        for name in ("v", "W_v")
    }
    step, keys = torch.zeros((), dtype=torch.int64), keys_tensor([key("draws")])
    many = bits.repeat(1, 400, 1)
    out = RandomHeads(validity.T, n).forward(W, many, Noise(keys, step))[0]
    wrong = float((out[:, 0].numpy() < 0).mean())
    hidden = np.array([0, 1, 2])
    Q = Posterior(
        trained, {name: np.full(w.shape, 0.3) for name, w in trained.weights.items()}, Zero()
    )
    y = np.where(np.tile(validity.labels(hidden), 400) == 1, 1, -1)
    risk = validity.gibbs_risk(Q, hidden, 1)[0]
    error = float((out[:, 0].numpy() * y <= 0).mean())
    assert abs(0.125 + 0.75 * error - risk) < 0.01 and 0 < wrong < 1
    scales = {name: math.sqrt(float((w**2 + 0.09).mean())) for name, w in trained.weights.items()}
    nats = math.fsum(Q.divergences(scales).values())
    assert float(out[0, 1]) == pytest.approx(nats / n, rel=1e-6)


@pytest.mark.parametrize("method", ["hold-out", "hold-out, stopped", "occam", "pac-bayes"])
def test_a_few_repetitions(validity, monkeypatch, method):
    """Trained for real; labels are those of the hidden places but for one in eight."""
    monkeypatch.setitem(validity.METHODS[method], "declared", DECLARED.get(method, {}))
    cases = validity.trained(method, 4, "cpu")
    assert len({tuple(case["hidden"]) for case in cases}) > 1
    right = [(2 * case["X"][:, case["hidden"]].sum(axis=1) > 3) == case["y"] for case in cases]
    total = sum(map(len, right))
    assert near(total - sum(int(r.sum()) for r in right), total, 0.125)
    judgements = [validity.judged(case) for case in cases]
    counts = validity.summary(method, judgements)
    assert counts["repetitions"] == 4 and len(counts["risks"]) == 4
    assert all(0.125 <= risk < 0.5 for risk in counts["risks"])
    assert counts["failures"] <= 2 and counts["mean_certificate"] > counts["mean_risk"]


DECLARED = {"hold-out, stopped": {"looks": 80}, "pac-bayes": {"pairs": 500, "forms": ["kl"]}}


def test_failures_are_counted_and_judged(validity):
    assert validity.failing(np.array([True] * 30 + [False] * 70))["p_value"] < 1e-6
    fine = validity.failing(np.array([True] * 8 + [False] * 92))
    assert fine["failures"] == 8 and fine["p_value"] == pytest.approx(stats.binom.sf(7, 100, 0.1))

"""Posteriors around the reader of one bit, and data for them, that the tests share.

from certificates.posteriors import HEAD, copies, learned, posterior
"""

from __future__ import annotations

import numpy as np

from dudley.certificates.data import Dataset
from dudley.certificates.hypothesis import Hypothesis
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.methods.pac_bayes.prior import Learned, Zero, split

HEAD = {"node": "head", "query": "fixed", "v": "free", "W_v": "free", "k": 1, "sigma": "identity"}


def tables(T: int) -> dict:
    return {"schema": "dudley.net/1", "input": {"T": T + 1, "V": 2 * T + 1}, "layer": [HEAD]}


def posterior(T: int = 2, size: float = 1.0, σ: float = 0.3, prior=None, σ_v: float = 2.0**-20):
    """f = (size·(2·bit₀ − 1) + noise)/(T + 1), attention uniform."""
    W = np.zeros((2 * T + 1, 1))
    W[0], W[T] = -size, size
    mean = Hypothesis(tables(T), {"name": "bits", "T": T}, {"0.v": np.zeros_like(W), "0.W_v": W})
    sigma = {"0.v": np.full_like(W, σ_v), "0.W_v": np.full_like(W, σ)}
    return Posterior(mean, sigma, prior or Zero())


def copies(n: int, T: int = 2, risk: float = 0.1, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 2, (n, T))
    X[:, 0] = y ^ (rng.random(n) < risk)
    return Dataset(X.astype(np.uint8), y)


def learned(data: Dataset, prefix: int, σ: float = 0.3) -> Posterior:
    like = posterior(σ=σ)
    seen = split(data, prefix, 0)[0].sha256
    return posterior(σ=σ, prior=Learned(prefix, 0, seen, dict(like.weights), dict(like.sigma)))

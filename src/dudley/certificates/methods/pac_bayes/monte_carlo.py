"""Monte-Carlo: the mean error L̂(Q) over all draws of the weights, from above, by N pairs.

A pair is (W, i): weights W drawn from Q and an example i drawn uniformly from the n counted ones,
independent of all other pairs. It errs with probability E_W (1/n) Σ_i 1[W errs on i] = L̂(Q), so
the number of erring pairs is exactly binomial, and with probability 1 − δ′ over the draws

    L̂(Q) ≤ binomial_upper(erring pairs, N, ln(1/δ′)).

The other way, K draws each evaluated on all n examples, gives a mean of K independent numbers in
[0, 1], for which P[mean ≤ x] ≤ e^{−K kl(x‖L̂(Q))} (Hoeffding 1963, Theorem 1), hence the bound
kl_upper(mean, ln(1/δ′)/K): one-sided, so no factor 2. At few errors both leave about ln(1/δ′) over
the number of draws, and a draw costs n evaluations there, one here.

Draws are a function of the hashes of the posterior *and* of the data, and of the number of the pair
(`dudley.core.philox`). Examples are counted in their canonical order (`dudley.certificates.order`).
So neither weights, nor labels, nor the order of a file can be fitted to draws that are known.
Pseudo- random numbers stand for Gaussian ones, which is declared. Weights are w + σz in float64,
and the forward is the network's own in numpy, on a batch of weights.
"""

from __future__ import annotations

import numpy as np

from dudley.certificates.data import Dataset
from dudley.certificates.encodings import examples_at_once
from dudley.certificates.methods.pac_bayes.posterior import Posterior
from dudley.certificates.predictor import margins
from dudley.core.constraint import size_of
from dudley.core.errors import InputError

MOST = 10**8  # pairs: minutes of work
MOST_DRAWN = 10**11  # weights of all pairs: an hour of drawing on one core
TOGETHER = 1 << 19  # numbers in the token rows, or in the weights, of a chunk of pairs


_KNOWN: dict[tuple[str, str, int], int] = {}  # the latest counts, by what they are a function of


def errors_of_pairs(Q: Posterior, data: Dataset, N: int) -> int:
    """How many of the N pairs of this posterior err."""
    if size_of("pairs", N) > MOST:
        raise InputError("pairs", f"at most {MOST:,}", N)
    count = sum(W.size for W in Q.weights.values())
    if N * count > MOST_DRAWN:
        expected, fix = f"at most {MOST_DRAWN:.0e} weights to draw", "declare fewer pairs"
        raise InputError("pairs", expected, f"{N:,} pairs of {count:,}", fix)
    drawn_from = (Q.sha256, data.sha256, N)
    if drawn_from not in _KNOWN:
        while len(_KNOWN) >= 16:
            _KNOWN.pop(next(iter(_KNOWN)))
        _KNOWN[drawn_from] = _count_errors(Q, data, N)
    return _KNOWN[drawn_from]


def _count_errors(Q: Posterior, data: Dataset, N: int) -> int:
    count = sum(W.size for W in Q.weights.values())
    step = min(examples_at_once(Q.encoding, TOGETHER), max(1, TOGETHER // count))
    errors = 0
    for first in range(0, N, step):
        pairs = np.arange(first, min(first + step, N))
        rows = data.order[examples(Q, data, pairs)]
        outputs = drawn_outputs(Q, data.X[rows], weights(Q, data, pairs))
        errors += int((margins(outputs, data.y[rows]) <= 0).sum())
    return errors


def weights(Q: Posterior, data: Dataset, pairs: np.ndarray) -> dict[str, np.ndarray]:
    """The weights of some pairs, (pairs, …) each."""
    from dudley.core.philox import Stream, normal

    sizes = {name: W.size for name, W in Q.weights.items()}
    keys, steps = _keys(Q, data, pairs)
    z = normal(keys, Stream.MONTE_CARLO, steps, sum(sizes.values())).double().numpy()
    drawn, start = {}, 0
    for name in Q.mean.shapes:
        W, σ = Q.weights[name], Q.sigma[name]
        drawn[name] = W + σ * z[:, start : start + W.size].reshape(-1, *W.shape)
        start += W.size
    return drawn


def examples(Q: Posterior, data: Dataset, pairs: np.ndarray) -> np.ndarray:
    """The examples of some pairs: uniform, as places in the canonical order."""
    from dudley.core.backend import torch
    from dudley.core.philox import Stream, below

    keys, steps = _keys(Q, data, pairs)
    return below(keys, Stream.INDICES, steps, torch.tensor([data.n]))[:, 0].numpy()


def drawn_outputs(Q: Posterior, X: np.ndarray, drawn: dict[str, np.ndarray]) -> np.ndarray:
    """The output for example j under weights j."""
    rows = Q.encoding.rows(X)
    return Q.mean.network.apply(Q.mean.params(drawn), rows)[..., -1, :]


def _keys(Q: Posterior, data: Dataset, pairs: np.ndarray):
    from dudley.core.backend import torch
    from dudley.core.philox import key, keys_tensor

    keys = keys_tensor([key("pairs of pac-bayes", Q.sha256, data.sha256)])
    return keys.expand(len(pairs), 2), torch.from_numpy(pairs.astype(np.int64))

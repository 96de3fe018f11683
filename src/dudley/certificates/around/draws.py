"""Draws: the mean failure L̂(Q) over all draws of the weights, from above, by K draws.

Draw k is (W_k, I_k): weights W_k from Q, and m of the n counted examples, drawn uniformly and
independently of all else; X_k is the share of I_k whose margin under W_k is at most τ. Given Q and
the examples the X_k are independent and alike, lie in [0, 1], and have the mean

    E X_k = E_W (1/n) Σ_i 1[margin of example i under W ≤ τ] = L̂_τ(Q),

so any one-sided bound on the mean of K independent numbers in [0, 1] bounds L̂_τ(Q): here that of
betting (`methods.hold_out.intervals.betting`). Its order is the number of the draw: draws are made
independently, one after the other, so no X_k can change it. Betting uses that the X_k vary little:
with weights that nearly all err alike their variance is about L̂/m. What is left of order
ln(1/δ′)/K cannot be had otherwise, since a draw that errs everywhere might come once in K times.

m examples share one draw of the weights, because a draw of 10⁷ weights costs more than a forward
pass of one example. Pairs with a fresh draw each are the case m = 1. m examples drawn with
replacement are also right where m exceeds n; from m = n on each draw sees all n instead, which has
the same mean.

Draws are a function of the hashes of the posterior and of the counted examples, and of k
(`dudley.core.philox`): the same normals on every device.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from dudley.certificates.around.flat import FlatAround, failing
from dudley.certificates.around.posterior import AroundPosterior
from dudley.certificates.data import Dataset
from dudley.core.backend import torch
from dudley.core.constraint import size_of
from dudley.core.errors import InputError
from dudley.core.watch import Watch

MOST = 10**6  # draws
SharesByTolerance = dict[float, np.ndarray]
# The latest shares of a posterior: of the object, since its hash does not tell the code that runs.
_KNOWN: WeakKeyDictionary[
    AroundPosterior, dict[tuple[str, int, int, tuple[float, ...]], SharesByTolerance]
] = WeakKeyDictionary()


def failing_shares(
    Q: AroundPosterior,
    data: Dataset,
    draws: int,
    examples: int,
    tolerance: float,
    watch: Watch | None = None,
) -> np.ndarray:
    """X_1, …, X_K."""
    return shares_at(Q, data, draws, examples, (tolerance,), watch)[tolerance]


def shares_at(
    Q: AroundPosterior,
    data: Dataset,
    draws: int,
    examples: int,
    tolerances: tuple[float, ...],
    watch: Watch | None = None,
) -> SharesByTolerance:
    """X_1, …, X_K at several tolerances, by the same draws."""
    if size_of("draws", draws) > MOST:
        raise InputError("draws", f"at most {MOST:,}", draws)
    size_of("examples of a draw", examples)
    known = _KNOWN.setdefault(Q, {})
    key = (data.sha256, draws, examples, tolerances)
    if key not in known:
        while len(known) >= 4:
            known.pop(next(iter(known)))
        known[key] = _count(Q, data, draws, examples, tolerances, watch or Watch())
    return known[key]


def _count(
    Q: AroundPosterior,
    data: Dataset,
    draws: int,
    m: int,
    tolerances: tuple[float, ...],
    watch: Watch,
) -> SharesByTolerance:
    from dudley.core.philox import Stream, below, key, keys_tensor

    ordered = data.part(data.order)
    flat = FlatAround(Q.start, Q.names, ordered.X, ordered.y)
    device = flat.device
    keys = keys_tensor([key("draws around a start", Q.sha256, data.sha256)], device)
    mean, σ = flat.vector(Q.mean), flat.spread(Q.sigma)
    shares = {tolerance: np.empty(draws) for tolerance in tolerances}
    every = torch.arange(flat.n, device=device)
    bounds = torch.full((min(m, flat.n),), flat.n, device=device)  # m comes from a file
    for k in range(draws):
        if k % 100 == 0:
            watch.say(f"draw {k} of {draws}")
        rows = every if m >= flat.n else below(keys, Stream.INDICES, k, bounds)[0]
        margins = flat.margins(drawn(mean, σ, keys, k), rows)
        for tolerance, share in shares.items():
            share[k] = failing(margins, tolerance) / len(rows)
    return shares


def drawn(mean: torch.Tensor, σ: torch.Tensor, keys: torch.Tensor, k: int) -> torch.Tensor:
    """Draw k of the weights, in float64."""
    from dudley.core.philox import Stream, normal

    return mean + σ * normal(keys, Stream.MONTE_CARLO, k, len(mean))[0].double()

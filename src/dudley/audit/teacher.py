"""Teacher: the readout that suits given signs, found by linear algebra instead of ascent.

Where a network ends in a readout, f = Φw with features Φ (n, k) of the other weights. Without a
penalty the best w is the corner of its ball in the direction Φᵀs. With a penalty β the objective is
a concave quadratic, whose best w without constraints is (ΦᵀΦ)⁺Φᵀs/(2β); ridge terms of several
sizes bring it near the ball, and the best of them is taken.

>>> import numpy as np, dudley as du
>>> from dudley.audit.backend import tensor
>>> from dudley.audit.batched_network import BatchedNetwork
>>> batched = BatchedNetwork.of(du.Readout(du.L2(9.0)), np.eye(2)[:, None, :])
>>> taught(batched, {("w",): tensor([[[0.0], [0.0]]])}, tensor(batched.X), tensor([[1, -1]]), 0.25)[
...     ("w",)].flatten().round(decimals=6).tolist()  # s/(2β)
[2.0, -2.0]
"""

from __future__ import annotations

from dudley.audit.balls import into_ball
from dudley.audit.batched_network import BatchedNetwork, WeightsByPath
from dudley.audit.broadcast import apply_many
from dudley.audit.corners import corner
from dudley.audit.leaves import Path
from dudley.calculus.compose import Chain, Node
from dudley.core.backend import torch
from dudley.networks.outputs import Readout
from dudley.networks.pointwise import Pool

RIDGES = (1e-10, 1e-4, 1e-2, 0.1, 1.0, 10.0, 100.0)  # relative to the mean eigenvalue


def objective(f, signs, β: float):
    """(1/n) Σ s f − (β/n) Σ f², for each member."""
    value = (f * signs).mean(-1)
    return value - (β**0.5 * f).square().mean(-1) if β else value


def last_readout(network: Node) -> tuple[Readout, Path] | None:
    """The readout in which a network ends, and where its weights lie; none if it ends otherwise."""
    last = network.stages()[-1]
    return (last.node, (*last.path, "w")) if isinstance(last.node, Readout) else None


def features(batched: BatchedNetwork, last: Readout, W: WeightsByPath, X):
    """Φ (B, n, k) with f = Φw, for a network that ends in the readout ``last``."""
    before, rows = batched.network.stages()[:-1], X
    if before:
        rows = apply_many(Chain(tuple(part.node for part in before)), batched.nest(W)[:-1], X)
    if rows.dim() == X.dim():  # no weights before the readout: the same rows for all members
        rows = rows[None].expand(len(next(iter(W.values()))), *rows.shape)
    return Pool(last.pool).apply({}, rows)[..., 0, :]


def taught(batched: BatchedNetwork, W: WeightsByPath, X, signs, β: float) -> WeightsByPath:
    """The same weights with the readout that the signs ask for; unchanged if there is none."""
    end = last_readout(batched.network)
    if end is None or end[1] not in W:
        return W
    last, path = end
    Φ = features(batched, last, W, X)
    Φᵀs = Φ.transpose(-1, -2) @ signs[..., None]  # (B, k, 1)
    best = corner(Φᵀs, last.w)
    if not β:
        return {**W, path: best}
    value = objective((Φ @ best)[..., 0], signs, β)
    gram = Φ.transpose(-1, -2) @ Φ
    scale = gram.diagonal(dim1=-1, dim2=-2).mean(-1)[:, None, None] + 1e-300
    identity = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    for ridge in RIDGES:
        w = torch.linalg.solve(gram + ridge * scale * identity, Φᵀs / (2 * β))
        w = into_ball(torch.nan_to_num(w), last.w)
        new = objective((Φ @ w)[..., 0], signs, β)
        best = torch.where((new > value)[:, None, None], w, best)
        value = torch.maximum(new, value)
    return {**W, path: best}

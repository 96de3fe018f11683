"""Balls: batched matrix norms, and weights and rows brought into the sets they must lie in.

Norms go by the names of ``core.norms``; the first axis counts restarts. Spectral norms are by power
iteration while gradients flow (from below, with the right gradient) and by singular values where a
result is reported (``exact``). Then weights are also scaled by 1 − 10⁻¹², strictly inside.

>>> from dudley import Spectral
>>> from dudley.audit.backend import tensor
>>> W = into_ball(tensor([[[3.0, 0.0], [0.0, 1.0]]]), Spectral(2.0), exact=True)
>>> float(W.amax()) < 2.0, round(float(norm("op", W)), 6)
(True, 2.0)
"""

from __future__ import annotations

from dudley.core.backend import torch
from dudley.core.constraint import Constraint
from dudley.core.errors import InputError
from dudley.core.norms import norm_named
from dudley.core.norms.base import TINY

STRICT = 1 - 1e-12


def spectral(W):
    """Spectral norms by power iteration (from below), with the right gradient."""
    with torch.no_grad():
        G = W.transpose(-1, -2) @ W if W.shape[-1] <= W.shape[-2] else W @ W.transpose(-1, -2)
        for _ in range(6):
            G = G / (G.diagonal(dim1=-1, dim2=-2).sum(-1)[..., None, None] + TINY)
            G = G @ G
        column = G.norm(dim=-2).argmax(-1)[..., None, None]
        x = torch.take_along_dim(G, column.expand(*G.shape[:-1], 1), -1)
        x = x / (x.norm(dim=-2, keepdim=True) + TINY)
    y = W @ x if W.shape[-1] <= W.shape[-2] else W.transpose(-1, -2) @ x
    return y.norm(dim=(-2, -1))


def norm(name: str, W, exact: bool = False):
    """A batch of matrix norms by the names of ``dudley.core.norms``, of any size."""
    size = W.detach().abs().amax((-2, -1))
    size = torch.where(
        size > 0, size, torch.ones_like(size)
    )  # squares of W/size are no longer lost
    return size * _norm(name, W / size[..., None, None], exact)


def _norm(name: str, W, exact: bool):
    if name == "op" and 1 in W.shape[-2:]:
        name = "fro"
    if name == "op" and not exact:
        return spectral(W)
    return norm_named(name).batch(W)


def of_rank(W, r: int | None):
    """The part of W on its first r right singular vectors."""
    if r is None or r >= min(W.shape[-2:]):
        return W
    with torch.no_grad():
        V = torch.linalg.svd(W, full_matrices=False)[2][..., :r, :]
    return (W @ V.transpose(-1, -2)) @ V


def into_ball(W, constraint: Constraint, exact: bool = False):
    """Rescale into every ball of the constraint (around 0), at most its rank."""
    if constraint.nonzeros is not None:
        raise InputError("constraint", "any number of nonzeros", f"{constraint}")
    W = of_rank(W, constraint.rank)
    factor = torch.ones(W.shape[0], dtype=W.dtype, device=W.device)
    for ball in constraint.balls:
        if ball.center is not None:
            raise InputError("constraint", "balls around 0", f"{constraint}")
        factor = torch.minimum(factor, ball.radius / (norm(ball.norm, W, exact) + TINY))
    return W * (factor * (STRICT if exact else 1.0))[:, None, None]


def rows(X):
    """The largest ℓ2 norm of a row (over all axes but the first)."""
    return X.norm(dim=-1).flatten(1).amax(-1)


def clip_rows(X, R):
    """Rows cut to norm R, one R for each restart."""
    sizes = X.norm(dim=-1, keepdim=True)
    return X * (R[:, None, None] / torch.maximum(sizes, R[:, None, None]))

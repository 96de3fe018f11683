"""Corners: where a linear function is largest on a ball, the dual-norm direction.

argmax of ⟨G, V⟩ over one ball: the polar factor for the spectral norm, one entry for ℓ1, the signs
for ℓ∞, one column or row for the sums of their ℓ2 norms, every column or row rescaled for their
maxima, one singular pair for the nuclear norm. For an intersection it is the best of these, each
scaled into the others; for one ball it is exact up to the iteration for singular vectors.

>>> from dudley import L1
>>> from dudley.audit.backend import tensor
>>> corner(tensor([[[1.0], [-3.0]]]), L1(2.0))[0, :, 0].tolist()
[0.0, -2.0]
"""

from __future__ import annotations

from dudley.audit.balls import TINY, into_ball
from dudley.core.backend import torch
from dudley.core.constraint import Constraint


def polar(G, steps: int = 12):
    """Newton and Schulz: X ← (3X − XXᵀX)/2 brings every singular value in (0, 1] up to 1."""
    X = G / (G.norm(dim=(-2, -1), keepdim=True) + TINY)
    turned = X.shape[-2] < X.shape[-1]
    X = X.transpose(-1, -2) if turned else X
    for _ in range(steps):
        X = 1.5 * X - 0.5 * X @ (X.transpose(-1, -2) @ X)
    return X.transpose(-1, -2) if turned else X


def pair(G):
    """The first singular pair u·vᵀ, by powers of the Gram matrix."""
    M = G.transpose(-1, -2) @ G
    for _ in range(8):
        M = M / (M.diagonal(dim1=-1, dim2=-2).sum(-1)[..., None, None] + TINY)
        M = M @ M
    column = M.norm(dim=-2).argmax(-1)[..., None, None]
    v = torch.take_along_dim(M, column.expand(*M.shape[:-1], 1), -1)
    u = G @ v
    return (
        u
        @ v.transpose(-1, -2)
        / (u.norm(dim=-2, keepdim=True) * v.norm(dim=-2, keepdim=True) + TINY)
    )


def _largest(sizes):
    """1 at the largest entry of the last axis, 0 elsewhere."""
    at = sizes.argmax(-1, keepdim=True)
    return torch.zeros_like(sizes).scatter(-1, at, 1.0)


def extreme(norm: str, G):
    """argmax of ⟨G, V⟩ over the unit ball of a norm, for a batch of matrices."""
    if norm == "op":
        return polar(G)
    if norm == "nuc":
        return pair(G)
    if norm == "fro":
        return G / (G.norm(dim=(-2, -1), keepdim=True) + TINY)
    if norm == "linf":
        return G.sign()
    if norm == "l11":
        flat = G.flatten(-2)
        return (_largest(flat.abs()) * flat.sign()).reshape(G.shape)
    if norm.startswith("row"):
        return extreme("col" + norm[3:], G.transpose(-1, -2)).transpose(-1, -2)
    if norm == "col1inf":
        columns = G.transpose(-1, -2)
        return (_largest(columns.abs()) * columns.sign()).transpose(-1, -2)
    sizes = G.norm(dim=-2)
    each = G / (sizes[..., None, :] + TINY)
    return each if norm == "col2inf" else each * _largest(sizes)[..., None, :]


def corner(G, constraint: Constraint):
    """A member of the constraint set where ⟨G, ·⟩ is largest, or nearly."""
    best = value = None
    for ball in constraint.balls:
        V = into_ball(ball.radius * extreme(ball.norm, G), constraint)
        reached = (G * V).sum((-2, -1))
        if best is None or value is None:
            best, value = V, reached
        else:
            better = reached > value
            best = torch.where(better[:, None, None], V, best)
            value = torch.maximum(reached, value)
    return torch.zeros_like(G) if best is None else best

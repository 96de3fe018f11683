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

from dudley.audit.balls import into_ball
from dudley.core.backend import torch
from dudley.core.constraint import Constraint
from dudley.core.norms import norm_named


def corner(G, constraint: Constraint):
    """A member of the constraint set where ⟨G, ·⟩ is largest, or nearly."""
    best = value = None
    for ball in constraint.balls:
        V = into_ball(ball.radius * norm_named(ball.norm).maximiser(G), constraint)
        reached = (G * V).sum((-2, -1))
        if best is None or value is None:
            best, value = V, reached
        else:
            better = reached > value
            best = torch.where(better[:, None, None], V, best)
            value = torch.maximum(reached, value)
    return torch.zeros_like(G) if best is None else best

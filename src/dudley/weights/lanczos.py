"""The largest eigenvalue of a symmetric matrix, estimated: nothing here is certified.

Lanczos with full reorthogonalisation from a fixed start. What comes out steers the certificate in
``spectral`` (where to try the Cholesky factorisation, which vector to take for the lower end); a
poor estimate makes the interval wide, never wrong.

>>> G = torch.diag(torch.tensor([4.0, 1.0, 0.0], dtype=torch.float64))
>>> estimate = largest(G)
>>> round(estimate.value, 6), round(float(estimate.vector.abs()[0]), 6)
(4.0, 1.0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dudley.core.backend import torch
from dudley.weights.entries import on_processor

DENSE = 96  # up to here the dense solver is faster
STEPS = 160
EVERY = 8
ENOUGH = 1e-9  # relative accuracy, of a cautious estimate; rounding soon dominates beyond it


@dataclass(frozen=True)
class EigenEstimate:
    """An eigenvalue from below, its vector, and how far above it the truth may lie (a guess)."""

    value: float
    vector: torch.Tensor
    error: float


def largest(G: torch.Tensor, steps: int = STEPS) -> EigenEstimate:
    """The top of the spectrum of a symmetric positive semidefinite G."""
    n = G.shape[0]
    if n <= DENSE:
        return dense(G)
    start = torch.randn(n, generator=torch.Generator().manual_seed(0), dtype=G.dtype)
    start = start.to(G.device) * G.diagonal().sqrt() + G[:, int(G.diagonal().argmax())]
    Q: Any = torch.zeros((min(steps, n) + 1, n), dtype=G.dtype, device=G.device)
    H: Any = G
    if on_processor(G):  # the same memory: numpy's calls on vectors are cheaper
        H, Q, start = G.numpy(), Q.numpy(), start.numpy()
    Q[0] = start / math.sqrt(float(start @ start))
    α, β, check = [], [], EVERY
    value, coordinates, error = 0.0, np.ones(1), math.inf
    for k in range(min(steps, n)):
        basis, q = Q[: k + 1], Q[k]
        w = H @ q
        α.append(float(q @ w))
        w = w - α[-1] * q
        if k:
            w -= β[-1] * Q[k - 1]
        w -= (basis @ w) @ basis  # what rounding left of the others
        β.append(math.sqrt(float(w @ w)))
        last = k + 1 == min(steps, n) or β[-1] <= 1e-15 * α[0]
        if k + 1 == check or last:
            value, coordinates, error = _ritz(α, β)
            if last or error <= ENOUGH * value:
                break
            check += max(EVERY, check // 3)
        Q[k + 1] = w / β[-1]
    x = torch.as_tensor(coordinates, dtype=G.dtype, device=G.device)
    x = x @ torch.as_tensor(Q[: len(coordinates)])
    image, size = G @ x, float(x @ x)
    return EigenEstimate(float(x @ image) / size, x, error)


def dense(G: torch.Tensor) -> EigenEstimate:
    """The same by the dense solver."""
    values, vectors = torch.linalg.eigh(G)
    return EigenEstimate(float(values[-1]), vectors[:, -1].contiguous(), 0.0)


def _ritz(α: list[float], β: list[float]) -> tuple[float, np.ndarray, float]:
    """Largest Ritz value, its coordinates, and an estimate of its error.

    The residual ρ bounds the distance to *an* eigenvalue; ρ²/gap is the order of that distance
    where the next Ritz value is apart.
    """
    values, vectors = np.linalg.eigh(np.diag(α) + np.diag(β[:-1], 1) + np.diag(β[:-1], -1))
    residual = float(β[-1] * abs(vectors[-1, -1]))
    gap = float(values[-1] - values[-2]) if len(values) > 1 else 0.0
    error = min(residual, residual**2 / gap) if gap > 0 else residual
    return float(values[-1]), vectors[:, -1], error

"""The spectral norm of a product ABᵀ that is never held: W_QK = W_Q W_Kᵀ, W_VO = W_V W_O.

A ∈ R^{d×k} and B ∈ R^{d'×k} have few columns. A = QR + E with a computed Q, R and
‖QᵀQ − I‖ ≤ δ, ‖E‖ ≤ ε bounded after the fact, so ‖Q‖ ≤ √(1 + δ); likewise for B. Then

    ‖ABᵀ‖ ≤ √((1 + δ_A)(1 + δ_B)) · ‖R_A R_Bᵀ‖ + ε_A ‖B‖ + (‖A‖ + ε_A) ε_B,

and R_A R_Bᵀ is k×k: fl(R_A R_Bᵀ) is off by at most γ_k ‖R_A‖_F ‖R_B‖_F. The error is of order
u‖A‖‖B‖ even where ABᵀ is much smaller than that. A factor with no more rows than columns stands
for itself. From below: x = Q_B z at the top vector z of the small problem, and ‖A(Bᵀx)‖/‖x‖.

>>> A, B = [[1.0], [2.0], [2.0]], [[3.0], [4.0]]
>>> op = product_spectral(A, B)
>>> op.contains(15.0), op.excess < 1e-12
(True, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.rounding import down, up
from dudley.weights.entries import Entries
from dudley.weights.interval import ZERO, Interval, U, γ
from dudley.weights.lanczos import largest
from dudley.weights.spectral import gram, spectral
from dudley.weights.sums import frobenius_up


def product_spectral(A, B, device: str = "cpu") -> Interval:
    """‖ABᵀ‖ for A ∈ R^{d×k} and B ∈ R^{d'×k}, through the smaller sides."""
    a, b = _factors(A, B, device)
    if not (a.largest and b.largest):
        return ZERO
    left, right = _reduced(a), _reduced(b)
    k = a.shape[1]
    core = left.R @ right.R.T
    inner = spectral(core, device)
    off = γ(k + 8) * left.size * right.size
    upper = up(math.sqrt((1 + left.δ) * (1 + right.δ)) * (inner.upper + up(off)), 16)
    upper = up(upper + left.ε * right.size + (left.size + left.ε) * right.ε, 16)
    upper = min(upper, up(left.size * right.size))
    lower = _from_below(left, right, core)
    return Interval(min(lower, upper), upper).shifted(a.exponent + b.exponent)


@dataclass(frozen=True)
class _Reduced:
    """A = QR + E with ‖QᵀQ − I‖ ≤ δ, ‖E‖ ≤ ε and ‖A‖_F, ‖R‖_F ≤ size; Q = I if None."""

    A: torch.Tensor
    Q: torch.Tensor | None
    R: torch.Tensor
    δ: float
    ε: float
    size: float


def _reduced(entries: Entries) -> _Reduced:
    A = entries.whole()
    d, k = A.shape
    size = frobenius_up(A)
    if d <= k:
        return _Reduced(A, None, A, 0.0, 0.0, size)
    Q, R = torch.linalg.qr(A)
    long = frobenius_up(Q)
    off = Q.T @ Q
    off.diagonal().sub_(1.0)
    δ = up(frobenius_up(off) + γ(d + 4) * (long * long + k), 16)
    wide = frobenius_up(R)
    ε = up(frobenius_up(A - Q @ R) * (1 + 4 * U) + γ(k + 8) * (long * wide + size), 16)
    return _Reduced(A, Q, R, δ, ε, max(size, wide))


def _from_below(left: _Reduced, right: _Reduced, core: torch.Tensor) -> float:
    """‖ABᵀx‖/‖x‖ at the top vector of the small problem, rounded down."""
    small = core if core.shape[0] >= core.shape[1] else core.T
    top = Entries.of(small, device=str(core.device))
    if not top.largest:
        return 0.0
    z = largest(gram(top)).vector
    if small is not core:  # the top vector on the other side
        z = core.T @ z
        z = z / z.abs().max().clamp_min(1e-300)
    x = z if right.Q is None else right.Q @ z
    (m, k), d = left.A.shape, right.A.shape[0]
    length = frobenius_up(x)
    w = right.A.T @ x
    y = left.A @ w
    image = down(math.sqrt(float(y @ y)) * (1 - γ(m + 8)))
    off = γ(k + 4) * left.size * frobenius_up(w) + γ(d + 4) * left.size * right.size * length
    return max(0.0, down((image - up(off, 16)) / length)) if length else 0.0


def _factors(A, B, device: str) -> tuple[Entries, Entries]:
    a = Entries.of(A, device=device, what="the left factor")
    b = Entries.of(B, device=device, what="the right factor")
    if a.shape[1] != b.shape[1]:
        got = f"{a.shape[1]} and {b.shape[1]}"
        raise InputError("factors of a product", "as many columns in both", got)
    return a, b

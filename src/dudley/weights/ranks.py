"""Certified singular values, and what they say: numerical rank, nuclear norm; the stable rank.

From any computed decomposition V ≈ U S Zᵀ, bounded after the fact: with ‖UᵀU − I‖ ≤ δ_U,
‖ZᵀZ − I‖ ≤ δ_Z and ‖V − U S Zᵀ‖ ≤ ε,

    s_i √((1 − δ_U)(1 − δ_Z)) − ε ≤ σ_i(V) ≤ s_i √((1 + δ_U)(1 + δ_Z)) + ε

(Ostrowski for the factors, Weyl for the remainder; R. A. Horn and C. R. Johnson, *Topics in matrix
analysis*, 3.3). The residuals are bounded as in ``spectral``; ε is about n·u·‖V‖_F, so singular
values are told apart down to 10⁻¹¹ of the largest. It costs a full decomposition; a rank alone is
counted by ``inertia`` for a fraction of that.

>>> numerical_rank([[1.0, 0.0], [0.0, 1e-6]], 1e-3)
Rank(lower=1, upper=1, tolerance=0.001)
>>> stable_rank([[1.0, 0.0], [0.0, 1.0]]).contains(2.0)
True
>>> nuclear([[3.0, 0.0], [0.0, -4.0]]).contains(7.0)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dudley.core.backend import torch
from dudley.core.errors import InputError
from dudley.core.rounding import down, up
from dudley.weights.entries import Entries
from dudley.weights.inertia import above
from dudley.weights.interval import ZERO, Interval, U, γ
from dudley.weights.spectral import SpectralProof, certificate
from dudley.weights.sums import frobenius_up

SMALL = 96  # up to here singular values cost no more than their inertia
DENSE = 1024


@dataclass(frozen=True)
class Rank:
    """How many singular values exceed tolerance·‖W‖: surely ``lower``, at most ``upper``.

    As an integer it is the upper end, the safe side for every bound that grows with the rank.
    """

    lower: int
    upper: int
    tolerance: float

    @property
    def exact(self) -> bool:
        """Whether both ends agree: the count is proved."""
        return self.lower == self.upper

    def __int__(self) -> int:
        return self.upper

    __index__ = __int__


def singular_values(W, device: str = "cpu") -> tuple[np.ndarray, np.ndarray, int]:
    """Lower ends, upper ends and e: the singular values of 2⁻ᵉW, largest first."""
    entries = Entries.of(W, device=device)
    V = entries.tall
    n = V.shape[1]
    if not entries.largest:
        return np.zeros(n), np.zeros(n), 0
    V = V.whole()
    U_, S, Zt = torch.linalg.svd(V, full_matrices=False)
    δ_U, δ_Z = _defect(U_), _defect(Zt.T)
    left = U_ * S
    ε = frobenius_up(V - left @ Zt) * (1 + 4 * U)
    ε = up(ε + γ(n + 8) * (frobenius_up(left) * frobenius_up(Zt) + frobenius_up(V)), 16)
    s = S.cpu().numpy()
    shrink = math.sqrt(max(0.0, 1 - δ_U) * max(0.0, 1 - δ_Z))
    lower = np.maximum(0.0, down(down(s * shrink, 16) - ε))
    return lower, up(s * math.sqrt((1 + δ_U) * (1 + δ_Z)) + ε, 16), entries.exponent


def _defect(X: torch.Tensor) -> float:
    """A bound on ‖XᵀX − I‖."""
    off = X.T @ X
    off.diagonal().sub_(1.0)
    size = frobenius_up(X)
    return up(frobenius_up(off) + γ(X.shape[0] + 4) * (size * size + X.shape[1]), 16)


def numerical_rank(W, tolerance: float, device: str = "cpu") -> Rank:
    """The number of singular values above tolerance·‖W‖, with its certificate.

    Large matrices are counted by inertia; where that leaves a gap, the singular values decide for
    sides up to ``DENSE``.
    """
    check_tolerance(tolerance)
    entries = Entries.of(W, device=device)
    if not entries.largest:
        return Rank(0, 0, tolerance)
    if min(entries.shape) > SMALL:
        rank = by_inertia(certificate(entries), tolerance)
        if rank.exact or min(entries.shape) > DENSE:
            return rank
    lower, upper, _ = singular_values(W, device)
    surely = int((lower > up(tolerance * upper[0])).sum())
    perhaps = int((upper > down(tolerance * lower[0])).sum())
    return Rank(surely, perhaps, tolerance)


def by_inertia(proof: SpectralProof, tolerance: float) -> Rank:
    """The same from the Gram matrix of a certificate."""
    low = max(0.0, down(tolerance * proof.op.lower - proof.drift, 8))
    high = up(tolerance * proof.op.upper + proof.drift, 8)
    surely, perhaps = above(proof.gram, down(low * low), up(high * high), proof.error)
    return Rank(surely, perhaps, tolerance)


def check_tolerance(tolerance: float) -> None:
    """Refuses what is no share of the largest singular value."""
    if not 0 <= tolerance < 1:
        raise InputError("tolerance of a numerical rank", "a number in [0, 1)", tolerance)


def nuclear(W, device: str = "cpu") -> Interval:
    """The nuclear norm: the sum of the singular values, each between its ends."""
    lower, upper, e = singular_values(W, device)
    if not upper.size or upper[0] == 0:
        return ZERO
    return Interval(down(math.fsum(lower)), up(math.fsum(upper))).shifted(e)


def stable_rank(W, device: str = "cpu") -> Interval:
    """‖W‖_F²/‖W‖²: [fro.lower²/op.upper², fro.upper²/op.lower²], within [1, min(m, n)].

    The stable rank of the zero matrix is 0.
    """
    entries = Entries.of(W, device=device)
    return stable(certificate(entries)) if entries.largest else ZERO


def stable(proof: SpectralProof) -> Interval:
    """The same from a certificate."""
    op, squares, most = proof.op, proof.squares, float(proof.gram.shape[0])
    least = max(1.0, down(squares.lower / up(op.upper * op.upper), 8))
    if op.lower > 0:
        most = min(most, up(squares.upper / down(op.lower * op.lower), 8))
    return Interval(min(least, most), max(1.0, most))

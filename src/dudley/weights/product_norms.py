"""All norms of ABᵀ, A ∈ R^{a×k}, B ∈ R^{b×k}, without ever holding the a×b product.

W_QK = W_Q W_Kᵀ of a head is d×d of rank k. Its rows are made in blocks, summed, and dropped. With
u = 2⁻⁵³ an entry computed in float64 is off by at most

    γ_{k+2} ‖a_i‖₂ ‖b_j‖₂ + 4k·2⁻¹⁰⁷⁴

whatever the order of summation (``interval``, and Cauchy–Schwarz), and is raised by that; the
sums over rows and columns carry their own γ. A and B are scaled by powers of two first, so that
squares neither overflow nor vanish. Every norm returned is an upper end; the spectral norm comes
from the k×k side (``certified.product_spectral``), the nuclear norm is bounded by √k‖·‖_F, k‖·‖₂.

>>> product = product_measured(torch.eye(3)[:, :2], 2 * torch.eye(3)[:, :2])
>>> [round(product.norms[name], 9) for name in ("op", "fro", "l11", "row2inf")]
[2.0, 2.828427125, 4.0, 2.0]
>>> product.stable_rank.contains(2.0)
True
"""

from __future__ import annotations

import math

from dudley.core.backend import torch
from dudley.core.norms import NORMS, Sums
from dudley.core.rounding import down, outward, up
from dudley.weights.certified import Measured, complete, nothing, product_spectral
from dudley.weights.interval import ZERO, Interval, shift_down, shift_up, γ
from dudley.weights.sums import names

BLOCK = 1 << 22  # entries of the product that are held at once
_TINY = 2.0**-1074


def product_measured(A, B, device: str = "cpu") -> Measured:
    """Every norm of ABᵀ from above, both ends of its spectral norm and stable rank."""
    op = product_spectral(A, B, device)
    if op.upper == 0:
        return Measured(nothing(), ZERO, ZERO, None)
    (A, e_A), (B, e_B) = (_scaled(M.to(device=device, dtype=torch.float64)) for M in (A, B))
    upper, least = _sums(A, B)
    upper = {name: shift_up(value, e_A + e_B) for name, value in upper.items()}
    rank = min(A.shape[1], A.shape[0], B.shape[0])
    upper["fro"] = min(upper["fro"], outward(math.sqrt(rank) * op.upper))
    top = min(op.upper, upper["fro"])
    upper["op"], op = top, Interval(min(op.lower, top), top)
    stable = _stable(shift_down(least, e_A + e_B), upper["fro"], op, rank)
    return Measured(complete(upper, rank), op, stable, None)


def _scaled(M):
    """2^{-e}M with largest entry in [1/2, 1), and e; zero stays."""
    e = math.frexp(float(M.abs().max()))[1]
    half = e // 2  # in two steps: 2^{-e} itself may not be a float
    return M * 2.0**-half * 2.0 ** (half - e), e


def _sums(A, B) -> tuple[dict[str, float], float]:
    """The sums and maxima from above, and the Frobenius norm from below."""
    (a, k), b = A.shape, B.shape[0]
    rows_A, rows_B = (torch.linalg.vector_norm(M, dim=1) * (1 + γ(k + 8)) for M in (A, B))
    error, tiny = γ(k + 8) * rows_A, 4 * k * _TINY
    col1 = torch.zeros(b, dtype=torch.float64, device=A.device)
    col2, row1, row2, largest = torch.zeros_like(col1), [], [], 0.0
    step = max(1, BLOCK // b)
    for start in range(0, a, step):
        P = (A[start : start + step] @ B.T).abs_()
        P += error[start : start + step, None] * rows_B[None, :]
        P += tiny
        largest = max(largest, float(P.max()))
        row1.append(P.sum(dim=1))
        col1 += P.sum(dim=0)
        P.square_()
        row2.append(P.sum(dim=1))
        col2 += P.sum(dim=0)
    parts = Sums(torch.cat(row1), torch.cat(row2), col1, col2, largest)
    sizes = {name: NORMS[name].from_sums(parts) for name in names()}
    sizes["fro"] = float(torch.linalg.vector_norm(parts.rows2.sqrt()))
    ulps = 2 * (a + b) + 64  # sums of a and of b terms, roots, products, and the raised entries
    upper = {name: float(up(size, ulps)) for name, size in sizes.items()}
    upper["linf"] = float(up(largest, 16))
    # From below: an entry is raised by at most twice its error.
    both = float(torch.linalg.vector_norm(rows_A)) * float(torch.linalg.vector_norm(rows_B))
    slack = up(2 * γ(k + 8) * both + 2 * tiny * math.sqrt(a * b), ulps)
    return upper, max(0.0, float(down(down(sizes["fro"], ulps) - slack)))


def _stable(least: float, most: float, op: Interval, rank: int) -> Interval:
    """‖·‖_F²/‖·‖₂², between 1 and the rank."""
    lower, upper = max(1.0, float(down((least / op.upper) ** 2, 16))), float(rank)
    if op.lower > 0:
        upper = min(upper, float(up((most / op.lower) ** 2, 16)))
    return Interval(min(lower, upper), upper)

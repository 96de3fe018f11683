"""The spectral norm, certified at both ends: an estimate, then a Cholesky factor as its proof.

Let V be the matrix as float64, m×n with n ≤ m, G = fl(VᵀV), and t slightly above the estimated
largest eigenvalue of G. If A = fl(tI − G) has a floating Cholesky factor L, then

    ‖V‖² ≤ t + ‖LLᵀ − A‖ + ‖A − (tI − G)‖ + ‖VᵀV − G‖.

*Proof.* tI − VᵀV = LLᵀ − (LLᵀ − A) − (A − tI + G) − (VᵀV − G), and LLᵀ ⪰ 0. ∎

Nothing is assumed about how L was computed: its residual is bounded after the fact, so that a
library may block, thread or invert as it likes (Rump, *Verification of positive definiteness*, BIT
46, 2006, bounds the residual a priori instead, for substitution in any order). The terms:

* ‖VᵀV − G‖ ≤ γ_k ‖|V|‖² ≤ γ_k tr(VᵀV), with k the roundings of a term (rows in blocks, then the
  sum over the blocks), and tr(VᵀV) ≤ tr(G)(1 + γ_{m+n});
* ‖A − tI + G‖ ≤ u·max|A_ii|: only the diagonal is rounded;
* ‖LLᵀ − A‖ ≤ ‖fl(fl(LLᵀ) − A)‖_F (1 + γ) + γ_n ‖L‖_F².

The lower end is ‖Vx‖/‖x‖ at the estimated vector x: |fl(Vx) − Vx| ≤ γ_n |V||x| gives
‖Vx‖ ≥ ‖fl(Vx)‖ − γ_n ‖V‖_F ‖x‖. On a GPU the same: float64 there rounds as IEEE 754 asks, and the
bounds hold for any order of the sums. If no factor is found, ``gram_iteration`` bounds ‖G‖.
Cost: about mn²/2 + n³/2 multiplications beyond the estimate, 16n² bytes and one block of rows.

>>> op = spectral([[3.0, 0.0], [4.0, 0.0]])
>>> op.contains(5.0), op.excess < 1e-12
(True, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf  # pyright: ignore[reportAttributeAccessIssue]

from dudley.core.backend import torch
from dudley.core.rounding import down, up
from dudley.weights.entries import Entries, block_depth, on_processor
from dudley.weights.interval import ZERO, Interval, U, shift_up, γ
from dudley.weights.lanczos import EigenEstimate, dense, largest

ATTEMPTS = 12
GROWTH = 16.0
WIDE = 1e-4  # relative width beyond which the dense solver is asked for a better estimate
_PANELS = 8


def spectral(W, device: str = "cpu") -> Interval:
    """The spectral norm of W."""
    return of_entries(Entries.of(W, device=device))


def of_entries(entries: Entries) -> Interval:
    """The spectral norm of a matrix that is read block by block."""
    return scaled_norm(entries).shifted(entries.exponent)


def scaled_norm(entries: Entries) -> Interval:
    """The spectral norm of 2⁻ᵉ times the matrix."""
    return certificate(entries).op if entries.largest else ZERO


@dataclass(frozen=True)
class SpectralProof:
    """What the Gram matrix proves about V = 2⁻ᵉ times a matrix that is not zero.

    ``op``: ‖V‖; ``squares``: ‖V‖_F²; ``gram``: G = fl(VᵀV) of the smaller side; ``error``: a bound
    on ‖VᵀV − G‖; ``drift``: how far the true singular values may be from V's (by its slack).
    """

    op: Interval
    squares: Interval
    gram: torch.Tensor
    error: float
    drift: float


def certificate(entries: Entries) -> SpectralProof:
    """The spectral norm with its proof; the matrix must not be zero."""
    V = entries.tall
    m, n = V.shape
    G = gram(V)
    total, ε = float(G.diagonal().sum()), γ(m + n + 8)
    squares = Interval(down(total * (1 - ε)), up(total * (1 + ε)))
    frobenius = up(math.sqrt(squares.upper))
    error = up(γ(block_depth(V) + 1) * squares.upper)
    lower, upper = down(math.sqrt(squares.lower / n)), frobenius
    for estimate in (largest, dense):  # the second only where the first led nowhere
        guess = estimate(G)
        lower = max(lower, _from_below(V, guess.vector, frobenius))
        upper = min(upper, up(math.sqrt(up(certify(G, guess) + error))))
        if upper <= (1 + WIDE) * lower:
            break
    drift = up(2 * entries.slack * frobenius)
    if drift:
        lower, upper = max(0.0, down(lower - drift)), up(upper + drift)
        ε = up(ε + 4 * entries.slack)
        squares = Interval(down(total * (1 - ε)), up(total * (1 + ε)))
    return SpectralProof(Interval(min(lower, upper), upper), squares, G, error, drift)


def gram(V: Entries) -> torch.Tensor:
    """fl(VᵀV): what is proved is proved of the symmetric matrix with its lower triangle."""
    total = None
    for block in V.blocks():
        product = _square(block)
        total = product if total is None else total.add_(product)
    assert total is not None
    return total


def _square(X: torch.Tensor) -> torch.Tensor:
    """fl(XᵀX); numpy computes one triangle and reflects it, torch has no such product."""
    if on_processor(X):
        values = X.numpy()
        return torch.from_numpy(values.T @ values)
    return X.T @ X


def certify(G: torch.Tensor, guess: EigenEstimate) -> float:
    """A number at or above the largest eigenvalue of a symmetric G (changed, then restored)."""
    n = G.shape[0]
    diagonal = G.diagonal().clone()
    A, bound = G.neg_(), None
    excess = guess.error + 2 * (n + 8) * U * guess.value
    for _ in range(ATTEMPTS):
        t = guess.value + excess
        A.diagonal().copy_(t - diagonal)
        L = factor(A)
        if L is not None:
            bound = up(t + residual(L, A) + up(U * float(A.diagonal().abs().max())))
            break
        del L
        excess *= GROWTH
    G = A.neg_()
    G.diagonal().copy_(diagonal)
    return gram_iteration(G) if bound is None or not math.isfinite(bound) else bound


def factor(A: torch.Tensor) -> torch.Tensor | None:
    """A matrix whose lower triangle should be a Cholesky factor of A, if the library finds one."""
    if on_processor(A):
        L, failed = dpotrf(A.numpy().T, lower=1, clean=0)
        return None if failed else torch.from_numpy(L)
    L, failed = torch.linalg.cholesky_ex(A)
    return None if int(failed) else L


def residual(L, A) -> float:
    """A bound on ‖LLᵀ − A‖, where only the lower triangles of L (overwritten) and A count."""
    n, squares, size = L.shape[0], 0.0, 0.0
    panels = _panels(n)
    if on_processor(L):  # the same memory: numpy's products are no slower, its calls cheaper
        L, A = L.numpy(), A.numpy()
    lower, upper = _triangles(panels[0][1], L)
    Lt = L.T  # L comes by columns
    for i, j in panels:
        Lt[i:j, i:j] *= upper[: j - i, : j - i]
    for row, (i, j) in enumerate(panels):
        for k, l in panels[: row + 1]:  # the columns k…l−1 of these rows: no entries of L beyond l
            R = L[i:j, :l] @ L[k:l, :l].T
            size += float(R.diagonal().sum()) if i == k else 0.0  # ‖L‖_F² = tr LLᵀ
            R -= A[i:j, k:l]
            if i == k:
                d = R.diagonal()
                squares -= float(d @ d)
                R *= lower[: j - i, : j - i]
            R = R.reshape(-1)
            squares += 2 * float(R @ R)
    grown = 1 + γ(4 * n * n + 64)
    far = math.sqrt(max(0.0, squares)) * grown + γ(n + 2) * size * grown
    return up(far) if math.isfinite(far) else math.inf


def _triangles(size: int, like):
    """A lower and an upper triangle of ones, as arrays of the same kind."""
    if isinstance(like, torch.Tensor):
        ones = torch.ones((size, size), dtype=like.dtype, device=like.device)
        return ones.tril(), ones.triu()
    return np.tri(size), np.tri(size).T.copy()


def gram_iteration(G: torch.Tensor, steps: int = 10) -> float:
    """A number at or above ‖G‖, by multiplying a matrix with its transpose again and again.

    ‖H‖² = ‖HᵀH‖ ≤ ‖fl(HᵀH)‖ + γ_n ‖H‖_F²; the last norm is bounded by Frobenius',
    and the errors are unrolled from there. It exceeds ‖G‖ by a factor of at most
    n^(1/2^(steps+1)) and the rounding (Delattre, Barthélemy, Araujo, Allauzen, *Efficient bound of
    Lipschitz constant for convolutional layers by Gram iteration*, ICML 2023, without rounding).

    >>> bound = gram_iteration(torch.diag(torch.tensor([2.0, 1.0], dtype=torch.float64)))
    >>> 2.0 <= bound <= 2.001
    True
    """
    n, errors = G.shape[0], []
    H, grown = G, 1 + γ(n * n + 16)
    for _ in range(steps):
        square = up(float((H * H).sum()) * grown)
        if square == 0:
            return 0.0
        e = -(math.frexp(square)[1] // 2)
        H = H * 2.0**e  # of Frobenius norm between 1/2 and 2: squares neither over- nor underflow
        square = up(float((H * H).sum()) * grown)
        errors.append((e, up(γ(n + 2) * square)))
        H = _square(H)
    bound = up(math.sqrt(float((H * H).sum()) * grown))
    for e, error in reversed(errors):
        bound = shift_up(up(math.sqrt(up(bound + error))), -e)
    return bound


def _from_below(V: Entries, x: torch.Tensor, frobenius: float) -> float:
    """‖Vx‖/‖x‖, rounded down."""
    m, n = V.shape
    image = math.sqrt(sum(float(y @ y) for y in (block @ x for block in V.blocks())))
    size = math.sqrt(float(x @ x))
    shrunk, grown = 1 - γ(m + n + 8), 1 + γ(m + n + 8)
    return max(0.0, down(image * shrunk / (size * grown) - up(γ(n + 1) * frobenius)))


def _panels(n: int) -> list[tuple[int, int]]:
    """Cuts of 0…n−1 into a few ranges, not too thin."""
    step = max(128, -(-n // _PANELS))
    return [(i, min(n, i + step)) for i in range(0, n, step)]

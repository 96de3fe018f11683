"""How many singular values exceed a threshold, by Sylvester's law of inertia.

Let G = fl(VᵀV) with ‖VᵀV − G‖ ≤ e, and let L D Lᵀ be a computed factorisation of A = fl(G − μI),
L a permuted unit triangular matrix, D symmetric with blocks of order 1 and 2. With
δ = ‖LDLᵀ − A‖ + ‖A − G + μI‖ + e, the eigenvalues of VᵀV − μI lie within δ of those of LDLᵀ
(Weyl), of which as many are positive as of D (Sylvester), so

    #{σ_i² > μ + δ} ≤ #{positive eigenvalues of D} ≤ #{σ_i² > μ − δ}.

The residual is bounded after the fact, ‖LDLᵀ − A‖ ≤ ‖fl(LDLᵀ) − A‖_F + γ_{n+4} ‖|L||D|‖_F ‖L‖_F,
and the signs of D are decided exactly, so nothing is assumed about the library. It costs two
factorisations, an order of magnitude less than singular values; squaring limits it to thresholds
above about 10⁻⁶‖V‖. Beyond, ``ranks`` takes the decomposition.

>>> G = torch.diag(torch.tensor([4.0, 1.0, 1e-4], dtype=torch.float64))
>>> above(G, 0.25, 0.25, 1e-15), above(G, 2.0, 2.0, 1e-15)
((2, 2), (1, 1))
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dudley.core.backend import torch
from dudley.core.rounding import up
from dudley.weights.interval import U, γ

_TRIES = 3
_ROWS = 512


def above(G: torch.Tensor, low: float, high: float, error: float) -> tuple[int, int]:
    """How many eigenvalues of a matrix within ``error`` of G surely exceed ``high``, and how many
    exceed ``low`` at most.
    """
    values = np.tril(G.cpu().numpy())
    values += np.tril(values, -1).T
    n = values.shape[0]
    least = up(2 * error + 64 * n * U * _frobenius(values))
    return _count(values, high, +least, error), _count(values, low, -least, error)


def _count(G: np.ndarray, threshold: float, margin: float, error: float) -> int:
    """Positive eigenvalues beyond threshold + margin, a margin above what is proved of the error.

    A positive margin counts from below, a negative one from above; 0 or n if nothing is proved.
    """
    for _ in range(_TRIES):
        inertia = _positive(G, threshold + margin)
        if inertia is None:
            break
        count, residual = inertia
        proved = up(residual + error + 4 * U * (abs(threshold) + abs(margin)), 16)
        if proved <= abs(margin):
            return count
        margin = math.copysign(2 * proved, margin)
    return 0 if margin > 0 else G.shape[0]


def _positive(G: np.ndarray, μ: float) -> tuple[int, float] | None:
    """Positive eigenvalues of a computed D, and a bound on ‖LDLᵀ − (G − μI)‖."""
    from scipy.linalg import LinAlgError, ldl

    n = G.shape[0]
    A = G.copy()
    A[np.diag_indices(n)] -= μ
    rounded = up(U * float(np.abs(np.diag(A)).max()))
    try:
        L, D, order = ldl(A, check_finite=False)
    except (LinAlgError, ValueError):
        return None
    d, e = np.diag(D).copy(), np.diag(D, -1).copy()
    blocks = np.count_nonzero(D) == np.count_nonzero(d) + 2 * np.count_nonzero(e)
    blocks &= np.array_equal(np.diag(D, 1), e) and not ((e[1:] != 0) & (e[:-1] != 0)).any()
    del D
    if not blocks or not _unit_triangular(L, order):
        return None
    far = large = 0.0
    for i in range(0, n, _ROWS):  # rows of LDLᵀ − A, and of |L||D|
        rows = L[i : i + _ROWS]
        R = _times(rows, d, e) @ L.T
        R -= A[i : i + _ROWS]
        far += float(np.vdot(R, R))
        size = _times(np.abs(rows), np.abs(d), np.abs(e))
        large += float(np.vdot(size, size))
    grown = 1 + γ(_ROWS * n + n + 64)
    off = math.sqrt(far) * grown + γ(n + 8) * math.sqrt(large) * _frobenius(L) * grown
    return (_signs(d, e), up(off + rounded, 16)) if math.isfinite(off) else None


def _times(L: np.ndarray, d: np.ndarray, e: np.ndarray) -> np.ndarray:
    """L·D for the tridiagonal D with these diagonals."""
    LD = L * d
    LD[:, :-1] += L[:, 1:] * e
    LD[:, 1:] += L[:, :-1] * e
    return LD


def _signs(d: np.ndarray, e: np.ndarray) -> int:
    """The number of positive eigenvalues of a D with blocks of order 1 and 2, exactly."""
    count, i = 0, 0
    while i < len(d):
        if i + 1 < len(d) and e[i] != 0:
            a, b, c = (Fraction(float(x)) for x in (d[i], e[i], d[i + 1]))
            det = a * c - b * b
            count += 1 if det < 0 else 2 * (a > 0) if det > 0 else (a + c > 0)
            i += 2
        else:
            count, i = count + bool(d[i] > 0), i + 1
    return count


def _unit_triangular(L: np.ndarray, order: np.ndarray) -> bool:
    """Whether the rows of L in this order make a lower triangle with ones on its diagonal."""
    n = len(order)
    if not np.array_equal(np.sort(order), np.arange(n)):
        return False
    if not (L[order, np.arange(n)] == 1).all():
        return False
    return not any(L[row, i + 1 :].any() for i, row in enumerate(order))


def _frobenius(X: np.ndarray) -> float:
    """‖X‖_F, rounded up."""
    return up(math.sqrt(sum(float(row @ row) for row in X)) * (1 + γ(sum(X.shape) + 8)))

"""How many integer vectors a Maurey or perceptron cover uses: Delannoy numbers.

D(p, K) = Σ_j 2^j C(p, j) C(K, j) counts the integer vectors of R^p with ℓ1 norm ≤ K. It is
symmetric in p and K and at most (2p+1)^K.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dudley.core.rounding import up

_FEW = 64  # up to this many terms are summed one by one
_FINITE = 650.0  # e to this power is a float, and so is its product with a log


def log_delannoy(p: ArrayLike, K: ArrayLike, log_K: ArrayLike | None = None) -> np.ndarray:
    """log D(p, K), never below the truth; ``log_K`` stands for K where K is infinite.

    Where min(p, K) is small the sum itself is taken. Elsewhere the generating function
    Σ_K D(p, K) t^K = (1+t)^p / (1−t)^{p+1} gives D(p, K) ≤ (1+t)^p (1−t)^{−p−1} t^{−K} for every
    t ∈ (0, 1); at t = tanh(θ/2) with sinh θ = K/p this is

        log D ≤ p·asinh(K/p) + K·asinh(p/K) + log((1+e^θ)/2),

    which exceeds the truth by half a logarithm of min(p, K) and a constant. By symmetry the last
    term may use the smaller of asinh(K/p) and asinh(p/K).

    >>> float(np.exp(log_delannoy(3, 3)))        # 63 integer points x in R³ with ‖x‖₁ ≤ 3
    63.0...
    """
    p, K = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(K, dtype=float))
    with np.errstate(divide="ignore"):
        log_K = np.log(K) if log_K is None else np.where(np.isfinite(K), np.log(K), log_K)
    shape = np.shape(log_K)
    p, K, log_K = np.atleast_1d(p, K, log_K)
    fewest, most = np.minimum(p, K), np.maximum(p, K)
    few = (fewest <= _FEW) & (most < 2.0**53) & ((K <= 4096) | (fewest <= 8))
    if few.all():
        value = _summed(fewest.ravel(), most.ravel())
    else:
        value = _saddle(p, K, log_K)
        value[few] = _summed(fewest[few], most[few])
    return up(value.reshape(shape), 16)


def log_log_delannoy(log_p: ArrayLike, K: ArrayLike, log_K: ArrayLike) -> np.ndarray:
    """log log D(p, K) for integers p and K of any size, from above; ``log_K`` as above.

    Where neither is a finite float, and wherever it is less, log D(p, K) ≤ K log(2p+1).

    >>> log_log_delannoy([math.log(3), 1e4], 2.0, math.log(2)).round(3)     # log log 25, …
    array([1.169, 9.904])
    """
    log_p, K, log_K = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in (log_p, K, log_K)))
    plain = log_K + np.log(np.logaddexp(log_p + math.log(2), 0.0)) + 1e-12
    finite = log_p < _FINITE
    p = np.exp(np.where(finite, log_p, 0.0))
    p = np.where(finite, np.where(p < 1e12, np.round(p), up(p, 2048)), math.inf)
    swapped = np.where(finite, p, K), np.where(finite, K, p), np.where(finite, log_K, log_p)
    with np.errstate(divide="ignore"):
        logs = np.minimum(np.log(log_delannoy(*swapped)), plain)  # D(p, K) = D(K, p)
    return np.where(K == 0, -math.inf, logs)


def _saddle(p: np.ndarray, K: np.ndarray, log_K: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        log_ratio = log_K - np.log(p)
        θ, θ_swapped = _asinh_exp(log_ratio), _asinh_exp(-log_ratio)
        first = np.where(log_ratio < -18, K, p * θ)  # asinh x ≤ x
        second = np.where(log_ratio > 18, p, K * θ_swapped)
        value = first + second + np.logaddexp(0, np.minimum(θ, θ_swapped)) - np.log(2)
    return np.where((K == 0) | (p == 0), 0.0, value)


def _asinh_exp(log_x: np.ndarray) -> np.ndarray:
    """asinh(e^{log x}), from above where e^{log x} is huge: asinh x ≤ log(2x) + 1/(4x²)."""
    return np.where(
        log_x > 18, np.log(2) + log_x + 1e-15, np.arcsinh(np.exp(np.minimum(log_x, 18)))
    )


def _summed(fewest: np.ndarray, most: np.ndarray) -> np.ndarray:
    pairs, back = np.stack([fewest, most]), np.arange(fewest.size)
    if fewest.size > 1:  # np.unique costs more than a sum
        pairs, back = np.unique(pairs, axis=1, return_inverse=True)
    fewest, most = pairs[:, :, None]
    j = np.arange(int(fewest.max(initial=0)))
    if not j.size:
        return np.zeros(back.size)
    with np.errstate(divide="ignore"):
        steps = np.log(2 * np.maximum(fewest - j, 0) * np.maximum(most - j, 0) / (j + 1.0) ** 2)
    logs = np.cumsum(steps, axis=1)  # of the terms j = 1, 2, …; term 0 is 1
    peak = np.maximum(logs.max(axis=1), 0.0)
    total = np.exp(-peak) + np.exp(logs - peak[:, None]).sum(axis=1)
    return (peak + np.log(total))[back.ravel()]


def log_binomial(a: float, b: float) -> float:
    """log C(a+b, b), from above: C(a+b, b) ≤ (a+b)^{a+b} / (a^a b^b).

    >>> log_binomial(3, 0), round(log_binomial(2, 2), 3)  # log 6 = 1.792
    (0.0, 2.773)
    """
    if a == 0 or b == 0:
        return 0.0
    return float(up(a * np.log1p(b / a) + b * np.log1p(a / b), 16))


_T = 1 - np.geomspace(1.0, 1e-9, 400)[1:]  # where the generating function is tried
_EXACT = 20000  # up to this K, and for no more than _TERMS terms, the sum itself is taken
_TERMS = 512


def log_nearest(p: int, K: ArrayLike, log_K: ArrayLike | None = None) -> np.ndarray:
    """log of the number of integer vectors z ∈ Z^p with Σ_{z_i≠0} (2|z_i| − 1) ≤ K, from above.

    These are what vectors of ℓ1 norm ≤ Kε become when each entry is rounded to the nearest
    multiple of 2ε, entries below ε to 0. With j nonzeros there are 2^j C(p, j) C(⌊(K−j)/2⌋+j, j)
    of them; where that sum is long, for every t ∈ (0, 1),  N ≤ (1 + 2t/(1−t²))^p t^{−K}, and
    N ≤ (K+2)^p. ``log_K`` stands for K where K is infinite.

    >>> float(np.exp(log_nearest(2, 3)))   # 1 + 2·2·2 + 4·1: one entry ±1, ±2, or two of ±1
    13.0...
    """
    K = np.asarray(K, dtype=float)
    with np.errstate(divide="ignore"):
        log_K = np.log(K) if log_K is None else np.where(np.isfinite(K), np.log(K), log_K)
    flat, logs = np.ravel(K), np.ravel(log_K)
    value = p * np.logaddexp(logs, np.log(2.0))
    with np.errstate(over="ignore"):
        rising = p * np.log1p(2 * _T / (1 - _T**2)) - np.minimum(flat, 1e300)[:, None] * np.log(_T)
    value = np.minimum(value, up(rising.min(axis=1), 64))
    few = (flat <= _EXACT) & (np.minimum(flat, p) <= _TERMS)
    if few.any():
        sizes, back = np.unique(flat[few], return_inverse=True)
        value[few] = _by_nonzeros(p, sizes)[back.ravel()]
    return up(value.reshape(K.shape), 16)


def _by_nonzeros(p: int, K: np.ndarray) -> np.ndarray:
    j = np.arange(min(p, int(K.max())) + 1)[None, :]
    K = K[:, None]
    rest = (np.maximum(K - j, 0) // 2).astype(int)
    fact = _log_factorials(int(_EXACT) + _TERMS)
    many = math.lgamma(p + 1) - np.array([math.lgamma(p - i + 1) for i in j[0]])
    logs = j * np.log(2.0) + many - 2 * fact[j] + fact[rest + j] - fact[rest]
    logs = np.where(j <= K, logs, -np.inf)
    peak = logs.max(axis=1)
    return up(peak + np.log(np.exp(logs - peak[:, None]).sum(axis=1)), 1 << 14)


@lru_cache(maxsize=2)
def _log_factorials(n: int) -> np.ndarray:
    return np.array([math.lgamma(k + 1) for k in range(n + 1)])


def log_choose(p: int, s: int) -> float:
    """log C(p, s), from above.

    >>> round(float(np.exp(log_choose(5, 2))), 6)
    10.0
    """
    return float(up(math.log(math.comb(p, min(s, p)))))

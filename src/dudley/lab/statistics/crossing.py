"""Where a rising success curve passes ½: an interval that holds however trials were chosen.

A column has cells 0, …, M−1 in increasing m; a trial in cell i succeeds with probability p_i. Its
crossing J is the first cell with p_i > ½, and M where there is none: the critical m of the curve,
as `critical.first_crossing` is that of observed rates.

**Theorem.** Let every trial be taken in a cell that depends in any way on earlier outcomes, and
given those succeed with its cell's p_i. Let the curve pass ½ once: p_i ≤ ½ for i < J and p_i > ½
for i ≥ J, which holds if it rises. For j ≠ j′ let K of N trials succeed in the cells between,
min(j, j′) ≤ i < max(j, j′), and

    E_jj′ = 2^(N+1) ∫_0^½ q^K (1−q)^(N−K) dq   for j′ > j,   with N−K in place of K for j′ < j,
    E_j = (1/M) Σ_{j′ ≠ j} E_jj′.

Then with probability at least 1 − α, E_J < 1/α at all times at once. So {j : E_j < 1/α} holds J
after every round, whatever rule ended the last one; nothing is paid for looks or for cells.

*Proof.* Where J = j < j′, cells between have p > ½. At a q ≤ ½ a trial there multiplies the
integrand by 2q or by 2(1−q), in the mean by 1 − (1−2q)(2p−1) ≤ 1; other trials leave it. It starts
at 1, so it is a supermartingale, and so are its means over q and over j′; likewise for j′ < j.
Ville's inequality ends the proof. ∎

The interval is of one column; for all of C columns at once ask for the level 1 − α/C.

Ville (1939); Robbins (1970), Statistical methods related to the law of the iterated logarithm;
Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting.

>>> import numpy as np
>>> crossing([1, 2, 20, 44, 47], [50, 50, 50, 50, 50])       # the third cell may lie on either side
(2, 3)
>>> crossing([0, 0, 0], [20, 20, 20])                        # it lies beyond the last cell
(3, 3)
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import betainc, betaln, logsumexp

from dudley.core.errors import InputError

TABLE = 400  # sums over cells up to which bets are looked up


def crossing(successes: Any, trials: Any, level: float = 0.95) -> Any:
    """The first and the last j with E_j < 1/α; columns (…, M) are taken one by one."""
    if not 0 < level < 1:
        raise InputError("level of an interval", "a number between 0 and 1", level)
    undecided = evidence(successes, trials) < -np.log1p(-level)
    # Where no j is left (with probability at most α, if the curve passes ½ once), nothing is told.
    undecided |= ~undecided.any(-1, keepdims=True)
    lowest, highest = (
        undecided.argmax(-1),
        undecided.shape[-1] - 1 - undecided[..., ::-1].argmax(-1),
    )
    return (int(lowest), int(highest)) if undecided.ndim == 1 else (lowest, highest)


def evidence(successes: Any, trials: Any) -> np.ndarray:
    """log E_j against every j: (…, M+1) of counts (…, M)."""
    k, n = counts(successes, trials)
    M = k.shape[-1]
    K, N = between(k), between(n)
    right = np.triu(np.ones((M + 1, M + 1), dtype=bool), 1)  # j′ > j
    K = np.where(right, K, N - K)
    each = _table()[K, N] if N.max() <= TABLE else bet(K, N)
    each[..., np.arange(M + 1), np.arange(M + 1)] = -np.inf
    return logsumexp(each, axis=-1) - np.log(M)


def counts(successes: Any, trials: Any) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers of one shape with 0 ≤ successes ≤ trials in every cell."""
    k, n = np.asarray(successes), np.asarray(trials)
    whole = (
        np.isfinite(k).all() and np.equal(k, np.floor(k)).all() and np.equal(n, np.floor(n)).all()
    )
    if k.shape != n.shape or not k.size or not whole or np.any((k < 0) | (k > n)):
        expected = "whole numbers, 0 ≤ successes ≤ trials in every cell"
        raise InputError("cells of a column", expected, f"{k.tolist()} of {n.tolist()}")
    return k.astype(int), n.astype(int)


def between(values: np.ndarray) -> np.ndarray:
    """Sums over the cells between j and j′, (…, M+1, M+1)."""
    sums = running(values)
    return np.abs(sums[..., None, :] - sums[..., :, None])


def running(values: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, … of the last axis, (…, M+1).

    >>> running(np.array([1, 2, 3]))
    array([0, 1, 3, 6])
    """
    return np.concatenate([np.zeros_like(values[..., :1]), values.cumsum(-1)], -1)


def bet(K: np.ndarray, N: np.ndarray) -> np.ndarray:
    """log 2^(N+1) ∫_0^½ q^K (1−q)^(N−K) dq."""
    with np.errstate(divide="ignore"):  # far in the tail there is no evidence: log 0
        tail = np.log(betainc(K + 1, N - K + 1, 0.5))
    return tail + (N + 1) * np.log(2) + betaln(K + 1, N - K + 1)


@cache
def _table() -> np.ndarray:
    """The same for all K ≤ N ≤ `TABLE`."""
    K, N = np.indices((TABLE + 1, TABLE + 1))
    return np.where(K <= N, bet(np.minimum(K, N), N), -np.inf)

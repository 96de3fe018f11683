"""Chain: from an entropy to the empirical Rademacher complexity R̂ = E sup (1/n) Σ τ_i f(x_i).

All forms take a class with |f| ≤ A on the sample (after subtracting any fixed function) and an
entropy for its L2(P_n) or sup metric. Write H = log N and scales A = d_0 > d_1 > … > d_J.

* :func:`dudley`: 4a + 12 ∫_a^{A/2} √(H/n), with upper Riemann sums.
* :func:`tree`: dyadic scales. The parent of a centre at level j is chosen at level j−1, so there
  are N(d_j) increments, each of length ≤ d_{j−1} (proper covers) or ≤ d_j + d_{j−1} (others):
  d_J + Σ_j ℓ_j √(2H(d_j)/n), hence 2a + (4√2 or 6√2) ∫_a^{A/2} √(H/n) for a = A/2^{J+1}.
* :func:`optimised`: the same sum over the best subset of a finer grid, by dynamic programming.

Massart's lemma bounds E max over N increments of length ℓ by ℓ√(2 log N/n). Each form is at most
A, the trivial bound; optimised ≤ tree ≤ dudley. Any scales chosen without the data are valid.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dudley.calculus.allocate import octaves
from dudley.calculus.memory import along
from dudley.core.entropy import Entropy

STEPS = 4  # grid scales per halving
_REACH = 8 * STEPS  # a link spans at most this many grid scales, or starts at the top


def lengths_of(log_n: ArrayLike) -> np.ndarray:
    """How many scales a chain may use: past A/√n, in steps of eight octaves, at most 48 octaves."""
    octaves_down = 8 * np.ceil(np.asarray(log_n) / (16 * math.log(2))) + 8
    return (STEPS * np.minimum(octaves_down, 48) + 1).astype(int)


def scales(log_n: ArrayLike) -> np.ndarray:
    """log(d/A) of the grid, four steps per octave, long enough for the largest n."""
    return -math.log(2) / STEPS * np.arange(np.max(lengths_of(log_n)))


@along
def by_integral(entropy: Entropy, log_A: float, log_n: np.ndarray) -> np.ndarray:
    """The bound on R̂/A by Dudley's integral, for each n."""
    grid = scales(log_n)
    return dudley(entropies(entropy, log_A, log_n, grid), log_n, grid)


@along
def complexity(entropy: Entropy, log_A: float, log_n: np.ndarray) -> np.ndarray:
    """The best bound on R̂/A known here, for each n: proper and other covers, optimised scales.

    Covers on points round n up to a power of two. The complexity of the worst sample falls with
    n, so its value at the power of two below serves as well.
    """
    if log_A == -math.inf:
        return np.zeros(len(log_n))
    below, back = np.zeros(0), None
    if entropy.uses_points:
        below = np.floor(log_n / math.log(2) * (1 + 2.0**-50)) * math.log(2)
        below, back = np.unique(below, return_inverse=True)
    values = _chained(entropy, log_A, np.concatenate([log_n, below]))
    best = values[: len(log_n)]
    return best if back is None else np.minimum(best, values[len(log_n) :][back])


def _chained(entropy: Entropy, log_A: float, log_n: np.ndarray) -> np.ndarray:
    """The better of any covers and covers by members, all in one program."""
    grid, members = scales(log_n), entropy.proper()
    if members == entropy:  # then links between members are never longer
        return optimised(entropies(entropy, log_A, log_n, grid), log_n, grid, proper=True)
    log_H = [entropies(one, log_A, log_n, grid) for one in (entropy, members)]
    proper = np.repeat([False, True], len(log_n))
    values = optimised(np.concatenate(log_H, axis=1), np.tile(log_n, 2), grid, proper)
    return values.reshape(2, -1).min(axis=0)


def entropies(entropy: Entropy, log_A: float, log_n: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """log H, one row for each scale and one column for each n.

    Scales past the length of an n's own chain are closed (infinite), so that a sweep and a single
    evaluation agree to the last digit.
    """
    if entropy.uses_points:
        sizes = octaves(log_n)
        tables = {o: entropy.log_log(log_A + grid, o * math.log(2)) for o in np.unique(sizes)}
        log_H = np.stack([tables[o] for o in sizes], axis=1)
    else:
        log_H = entropy.log_log(log_A + grid)[:, None]
    return np.where(np.arange(len(grid))[:, None] < lengths_of(log_n), log_H, math.inf)


def _roots(log_H: np.ndarray, log_n: float | np.ndarray) -> np.ndarray:
    """√(H/n), scales × sample sizes."""
    with np.errstate(over="ignore"):
        return np.exp(0.5 * (log_H - log_n))


def dudley(log_H: np.ndarray, log_n: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """min(1, inf_a 4a + 12∫_a^{1/2} √(H/n)) in units of A."""
    d, root = np.exp(grid)[:, None], _roots(log_H, log_n)
    half = STEPS  # d[half] = 1/2
    pieces = (d[half:-1] - d[half + 1 :]) * root[half + 1 :]  # H at the lower end: from above
    integral = np.concatenate([np.zeros_like(root[:1]), np.cumsum(pieces, axis=0)])
    return np.minimum(1.0, (4 * d[half:] + 12 * integral).min(axis=0))


def tree(log_H: np.ndarray, log_n: np.ndarray, grid: np.ndarray, proper: bool) -> np.ndarray:
    """min(1, min_J d_J + Σ_{j≤J} ℓ_j √(2H(d_j)/n)) over dyadic scales, in units of A."""
    d, root = np.exp(grid[::STEPS])[:, None], _roots(log_H[::STEPS], log_n)
    lengths = d[:-1] + (0 if proper else d[1:])
    sums = np.cumsum(lengths * math.sqrt(2) * root[1:], axis=0)
    return np.minimum(1.0, (d[1:] + sums).min(axis=0))


def optimised(
    log_H: np.ndarray, log_n: np.ndarray, grid: np.ndarray, proper: bool | np.ndarray
) -> np.ndarray:
    """min(1, min over chains of d_J + Σ_j ℓ_j √(2H(d_j)/n)), in units of A.

    ``proper`` says whether centres are members: for all columns alike, or for each.
    """
    best = _program(log_H, log_n, grid, proper)
    return np.minimum(1.0, (best + np.exp(grid)[:, None]).min(axis=0))


def _program(
    log_H: np.ndarray, log_n: np.ndarray, grid: np.ndarray, proper: bool | np.ndarray
) -> np.ndarray:
    """Cost of the best chain that ends at each scale: V_k = min_i V_i + ℓ_{ik} √(2H_k/n), i < k."""
    d, root = np.exp(grid)[:, None], math.sqrt(2) * _roots(log_H, log_n)
    best, extra = np.zeros_like(root), np.where(proper, 0.0, d)
    for k in range(1, len(d)):
        starts = _starts(k)
        best[k] = (best[starts] + (d[starts] + extra[k]) * root[k]).min(axis=0)
    return best


def _starts(k: int) -> slice | list[int]:
    """The coarser scales from which a link may reach scale k."""
    return slice(0, k) if k <= _REACH else [0, *range(k - _REACH, k)]


def best_chain(log_H: np.ndarray, log_n: float, grid: np.ndarray, proper: bool) -> list[tuple]:
    """The optimal chain for one n: (log scale, cost of the link that reaches it), top down."""
    best = _program(log_H, np.array([log_n]), grid, proper)[:, 0]
    d, root = np.exp(grid), math.sqrt(2) * _roots(log_H, log_n)[:, 0]
    k = int((best + d).argmin())
    links = []
    while k > 0:
        starts = np.arange(len(d))[_starts(k)]
        costs = best[starts] + (d[starts] + (0 if proper else d[k])) * root[k]
        parent = int(starts[costs.argmin()])
        links.append((float(grid[k]), float(best[k] - best[parent])))
        k = parent
    return links[::-1]

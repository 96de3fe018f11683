"""Copies: n times the same input, where a complexity is a number times a random walk.

Let members of the class predict from −b to a at an input x. On n copies of x, with S the sum of
the signs, the supremum of Σ s_i f(x) is aS or −bS, so the Rademacher complexity is exactly

    (a + b)/2 · E|S|/n,        E|S|/n ≈ √(2/(πn)),

and no sign is drawn. With a penalty the two members ±t give t·E|S|/n − βt². A network that ends in
a readout has both for every t up to the smaller of a and b; otherwise t is not chosen.
"""

from __future__ import annotations

import math

import numpy as np

from dudley.audit.ascent import supremum_below
from dudley.audit.batched_network import BatchedNetwork
from dudley.audit.instances import mean_sign
from dudley.audit.teacher import last_readout
from dudley.calculus.compose import Node
from dudley.calculus.facts import Signal
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.members import inputs

DRAWN = 1  # inputs, beside the one whose rows are all the first basis vector
RESTARTS, STEPS = 4, 15
NEARLY = 0.99  # of the declared radius: no input can show much more
ENTRIES = 2**22  # of the largest array in one batch of an ascent
INSIDE = 1 - 1e-12


def basis_rows(signal: Signal, count: int) -> np.ndarray:
    """Inputs whose rows are all R·e_1, all R·e_2, …: (count, T, d)."""
    T, d = int(signal.rows), signal.width
    rows = np.eye(d)[np.arange(count) % d] * (float(signal.radius) * INSIDE)
    return np.repeat(rows[:, None], T, axis=1)


def visits(n: int, signal: Signal) -> int:
    """Entries of the largest array that one member needs on n inputs: rows or scores."""
    T = int(signal.rows)
    return n * T * max(T, signal.width)


def together(X: np.ndarray) -> int:
    """How many members an ascent on X (n, T, d) takes at once."""
    n, T, d = X.shape
    return max(1, ENTRIES // (n * T * max(T, d)))


def copies_below(
    network: Node, signal: Signal, n: int, β: float, rng: np.random.Generator
) -> LowerBound:
    """The complexity of a network on n copies of the best of a few inputs is at least this.

    >>> import dudley as du
    >>> tokens = du.Tokens(row2inf=3.0, T=1, d=2).signal(2)
    >>> print(copies_below(du.Readout(du.L2(1.0)), tokens, 2, 0.0, np.random.default_rng(0)))
    at least 1.5 (2 copies of one input)
    """
    X = np.concatenate([basis_rows(signal, 1), inputs(signal, DRAWN, rng)])
    scaled, radius = last_readout(network) is not None, BatchedNetwork.of(network, X).radius
    best, seed = -math.inf if β else 0.0, int(rng.integers(2**31))
    for x in X[:, None]:
        high, low = supremum_below(
            network, x, [[1.0], [-1.0]], 0.0, RESTARTS, STEPS, seed, at_once=together(x)
        ).tolist()
        best = max(best, _walked(high, low, mean_sign(n), β, scaled))
        if min(high, low) >= NEARLY * radius:
            break
    return LowerBound(best - 1e-14 * abs(best), f"{n} {'copies' if n > 1 else 'copy'} of one input")


def _walked(high: float, low: float, step: float, β: float, scaled: bool) -> float:
    """What members that predict ``high`` and −``low`` give; ``step`` is E|S|/n."""
    if β and scaled:
        t = min(step / (2 * β), max(0.0, min(high, low)))
        return t * step - β * t * t
    return (high + low) / 2 * step - β * max(high * high, low * low)

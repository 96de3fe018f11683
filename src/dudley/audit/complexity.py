"""Complexities from below: found suprema over random signs, less the deviation of their mean.

The mean over D sign draws of the suprema is a function of nD independent signs, each of which moves
it by at most 2A/(nD) where |f| ≤ A (the penalty does not depend on the signs). By McDiarmid, but
for a chance δ of the draws,

    E sup_f (1/n) Σ [s_i f(X_i) − β f(X_i)²]  ≥  mean of found values − A √(2 log(1/δ)/(nD)).

Where all 2^n sign vectors are no more than D, they are enumerated, and nothing is subtracted.
The member with weights 0 costs no chance, so the result is never below what it gives.

>>> import numpy as np, dudley as du
>>> X, net = np.eye(4)[:, None, :], du.Readout(du.L2(1.0))
>>> print(rademacher_below(net, X, draws=16, restarts=1, steps=1))  # the truth is 0.5
at least 0.5 (ascent × 1, all 2^4 signs)
>>> offset_below(du.Readout(du.L2(0.25)), X, β=4.0, draws=16, restarts=1, steps=1).value
0.0624999...

(the truth is rank/(4βn) = 0.0625: the ball holds every s/(2β), ‖s‖₂ = 2)
"""

from __future__ import annotations

import math

import numpy as np

from dudley.audit.ascent import supremum_below
from dudley.audit.backend import tensor
from dudley.audit.batched_network import BatchedNetwork
from dudley.calculus.compose import Node
from dudley.core.backend import torch
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.suprema import ENUMERATED, all_signs


def rademacher_below(
    network: Node,
    X,
    draws: int = 32,
    restarts: int = 8,
    steps: int = 40,
    δ: float = 1e-9,
    seed: int = 0,
    device: str = "cpu",
    at_once: int | None = None,
) -> LowerBound:
    """The empirical Rademacher complexity of a network class on X (n, T, d) is at least this."""
    return offset_below(network, X, 0.0, draws, restarts, steps, δ, seed, device, at_once)


def offset_below(
    network: Node,
    X,
    β: float,
    draws: int = 32,
    restarts: int = 8,
    steps: int = 40,
    δ: float = 1e-9,
    seed: int = 0,
    device: str = "cpu",
    at_once: int | None = None,
) -> LowerBound:
    """The offset complexity R_off(F, β) of a network class on X (n, T, d) is at least this."""
    if not 0 < δ < 1:
        raise InputError("δ", "a number strictly between 0 and 1", δ)
    batched = BatchedNetwork.of(network, X)
    n, D = len(batched.X), size_of("draws", draws)
    every = n <= ENUMERATED and 2**n <= D
    signs = all_signs(n) if every else _drawn(D, n, seed)
    suprema = supremum_below(
        network, X, signs, radius_of("β", β), restarts, steps, seed, device, at_once
    )
    drift = batched.radius * math.sqrt(2 * math.log(1 / δ) / (n * D))
    value = float(suprema.mean()) - (0.0 if every else drift * (1 + 1e-12))
    value -= 1e-15 * abs(value)
    rest = at_zero(batched, β, seed)
    if value <= rest:
        return LowerBound(rest, "the member with weights 0")
    if every:
        return LowerBound(value, f"ascent × {restarts}, all 2^{n} signs")
    return LowerBound(value, f"ascent, {D} sign draws × {restarts}", δ)


def _drawn(draws: int, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng([seed]).choice([-1.0, 1.0], size=(draws, n))


def at_zero(batched: BatchedNetwork, β: float, seed: int = 0) -> float:
    """What the member with weights 0 gives in expectation over the signs: −(β/n) Σ f(X_i)²."""
    if not β:
        return 0.0
    W = batched.inside(batched.starts([np.random.default_rng(seed)], seed, "cpu"))
    W |= {leaf.path: torch.zeros_like(W[leaf.path]) for leaf in batched.moving}
    f = batched.outputs(W, tensor(batched.X))
    return -float((math.sqrt(β) * f).square().mean()) * (1 + 1e-9)

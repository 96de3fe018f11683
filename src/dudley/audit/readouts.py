"""Readouts: a network with all weights fixed but the last, whose suprema are known in closed form.

Fixed earlier weights leave a linear class inside the class: f(X_i) = Φ_i·w for w in the readout's
set. Its supremum over a ball is the radius times the dual norm of Σ s_iΦ_i, so thousands of sign
draws cost one matrix product; and what McDiarmid's inequality subtracts goes with the size of this
class instead of the whole one's. The earlier weights are climbed for a few signs of their own, so
they do not depend on the signs that are averaged over.

With a penalty, or where the readout lies in several balls, the class inside is an ℓ2 ball
(``OffsetBall``) or the segments from 0 along the axes.
"""

from __future__ import annotations

import math

import numpy as np

from dudley.audit.ascent import climbed
from dudley.audit.backend import tensor
from dudley.audit.balls import STRICT, into_ball
from dudley.audit.batched_network import BatchedNetwork
from dudley.audit.copies import together
from dudley.audit.teacher import features, last_readout
from dudley.calculus.compose import Node
from dudley.core.constraint import Constraint
from dudley.networks.outputs import Readout
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.suprema import (
    AT_ONCE,
    ENUMERATED,
    BallClass,
    OffsetBall,
    Segments,
    offset_in_ball,
    rademacher,
)

SIGNS, RESTARTS, STEPS = 2, 3, 15  # of the ascent for the earlier weights
VISITED = SIGNS * RESTARTS * STEPS  # times each input
PILOT = 64  # sign draws that choose among them
SIGNS_IN_ALL = 2**26  # that are drawn at most
COLUMNS = ("fro", "op", "nuc", "col21", "col2inf")  # of one column, its ℓ2 norm
LEAST = 64  # draws below which no power is left


def readout_below(
    network: Node,
    X: np.ndarray,
    n: int,
    β: float,
    draws: int,
    δ: float,
    rng: np.random.Generator,
) -> LowerBound | None:
    """The complexity on n inputs, X (m, T, d) over and over, is at least this; none if unknown.

    >>> import dudley as du
    >>> net, X = du.Readout(du.L2(1.0)), np.eye(4)[:, None, :]
    >>> print(readout_below(net, X, 400, 0.0, 4096, 1e-9, np.random.default_rng(0)))
    at least 0.041... (closed-form readout, 4096 sign draws; wrong with probability at most 1e-09)
    """
    batched, end, draws = (
        BatchedNetwork.of(network, X),
        last_readout(network),
        min(draws, SIGNS_IN_ALL // n),
    )
    if end is None or batched.ties or end[1] not in {leaf.path for leaf in batched.moving}:
        return None
    constraint, choices = end[0].w, _features(batched, end[0], rng)
    bounds = [_by_rank(constraint, Φ, β, n) for Φ in choices] if β else []
    if n <= ENUMERATED or draws >= LEAST:
        bounds.append(_by_signs(constraint, choices, β, n, draws, δ, rng))
    if not bounds:
        return None
    best = max(bounds, key=lambda lower: lower.value)
    steepness = 1 + (2 * β * batched.radius if β else 0.0)  # of the objective, by the outputs
    room = 1e-9 * abs(best.value) + 1e-12 * batched.scale * steepness
    return LowerBound(best.value - room, f"closed-form readout, {best.method}", best.δ)


def _by_signs(constraint, choices, β: float, n: int, draws: int, δ: float, rng) -> LowerBound:
    """The mean of suprema over all signs or drawn ones, for the features that a pilot prefers."""
    m = len(choices[0])
    times = np.sqrt(_times(n, m))
    classes = [inner(constraint, times[:, None] * Φ, β) for Φ in choices]

    def folded(signs):  # equal inputs count as one, by the sum of their signs
        return np.stack([signs[:, j::m].sum(axis=1) for j in range(m)], axis=1) / times

    pilot = folded(rng.choice([-1.0, 1.0], size=(max(1, min(PILOT, AT_ONCE // n)), n)))
    best = max(range(len(choices)), key=lambda c: float(np.mean(classes[c](pilot))))
    size = inner(constraint, choices[best], β).size
    drawn = None if n <= ENUMERATED else rng
    return rademacher(lambda signs: classes[best](folded(signs)), n, size, drawn, draws, δ)


def _times(n: int, m: int) -> np.ndarray:
    """How often each of m inputs occurs when they are taken over and over, n in all."""
    return n // m + (np.arange(m) < n % m).astype(float)


def _by_rank(constraint: Constraint, Φ: np.ndarray, β: float, n: int) -> LowerBound:
    """The mean over all signs of a penalised linear class, from an ℓ2 ball inside the set."""
    if constraint.rank is not None or constraint.nonzeros is not None:
        return LowerBound(0.0, "one member")
    if any(ball.center is not None for ball in constraint.balls):
        return LowerBound(0.0, "one member")
    spread = math.sqrt(Φ.shape[1])  # of the ℓ1 norm by the ℓ2 norm; no norm of a column is larger
    sizes = [float(b.radius) / (1.0 if b.norm in COLUMNS else spread) for b in constraint.balls]
    times = np.sqrt(_times(n, len(Φ)))
    return offset_in_ball(times[:, None] * Φ, β, min(sizes) * STRICT, n)


def _features(batched: BatchedNetwork, last: Readout, rng: np.random.Generator) -> list[np.ndarray]:
    """Features (m, k) of each climbed choice of the earlier weights."""
    signs, seed = rng.choice([-1.0, 1.0], size=(SIGNS, len(batched.X))), int(rng.integers(2**31))
    if len(batched.free) == 1:
        W = batched.inside(batched.starts([np.random.default_rng(seed)], seed, "cpu"))
        return [features(batched, last, W, tensor(batched.X))[0].numpy()]
    W = climbed(batched, signs, RESTARTS, STEPS, seed, together(batched.X))
    members = len(next(iter(W.values())))
    choices = ({p: w[b : b + 1] for p, w in W.items()} for b in range(members))
    return [features(batched, last, one, tensor(batched.X))[0].numpy() for one in choices]


def inner(constraint: Constraint, Φ: np.ndarray, β: float):
    """A class inside {Φw : w in the set}, with suprema in closed form."""
    plain = len(constraint.balls) == 1 and constraint.rank is None and constraint.nonzeros is None
    if plain and constraint.balls[0].center is None:
        norm, radius = constraint.balls[0].norm, float(constraint.balls[0].radius) * STRICT
        if not β:
            return BallClass(norm, radius, Φ)
        if norm in COLUMNS:
            return OffsetBall(radius, Φ, β)
    k = Φ.shape[1]
    size = constraint.bounds((k, 1))["op"]
    axes = tensor(np.eye(k)[:, :, None] * (size if math.isfinite(size) else 1.0))
    return Segments(Φ @ into_ball(axes, constraint, exact=True)[:, :, 0].numpy().T, β)

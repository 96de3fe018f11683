"""Packings: members so far apart that no two of them share a centre.

If the outputs of two members differ by more than 2ε at some point, no function whatever is within
ε of both; so of members pairwise that far apart each needs a centre of its own, and log N(ε) is at
least the log of their number. (More than ε apart is not enough, not even for covers by members:
of −1, 0, 1 the one in the middle covers all at ε = 1.)

Distances are taken between float outputs. A pair counts as apart only if its distance exceeds 2ε
by a relative 1e-9 and by 1e-12 of the scale of what was computed, more than rounding can make up.
"""

from __future__ import annotations

import math

import numpy as np

from dudley.calculus.compose import Node
from dudley.calculus.facts import Parameter, Signal
from dudley.core.entropy import Metric, resolutions
from dudley.core.errors import InputError
from dudley.core.rounding import down
from dudley.theorems.witness.codes import gilbert_varshamov
from dudley.theorems.witness.linear_maps import linear
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.members import draw_parameters, inputs, outputs
from dudley.theorems.witness.scaling import near_one

__all__ = ["distances", "gilbert_varshamov", "greedy", "linear", "network", "separated"]

RELATIVE, ABSOLUTE = 1e-9, 1e-12


def distances(F: np.ndarray) -> np.ndarray:
    """Between members' outputs F (count, points, width): the largest ℓ2 norm over the points.

    >>> distances(np.array([[[0.0, 0.0]], [[3.0, 4.0]]]))
    array([[0., 5.], [5., 0.]])
    """
    F = np.asarray(F, dtype=float)
    if F.ndim == 2:
        F = F[:, :, None]
    F, power = near_one(F)
    far = [np.linalg.norm(F - own, axis=-1).max(axis=-1, initial=0.0) for own in F]
    return np.ldexp(np.stack(far), power) if far else np.zeros((0, 0))


def needed(ε: float, scale: float) -> float:
    """The float distance from which on two members are surely more than 2ε apart."""
    resolutions(ε)
    return 2 * ε * (1 + RELATIVE) + ABSOLUTE * scale


def separated(
    metric: np.ndarray, threshold: float, rng: np.random.Generator | None = None, restarts: int = 8
) -> list[int]:
    """A large set of members pairwise more than ``threshold`` apart.

    Once by always taking the member that is farthest from those taken, then by taking what fits,
    in random orders; the largest set found.
    """
    best = _farthest(metric, threshold)
    rng = np.random.default_rng(0) if rng is None else rng
    far = metric > threshold
    for _ in range(restarts):
        chosen, free = [], np.ones(len(metric), dtype=bool)
        for i in rng.permutation(len(metric)):
            if free[i]:
                chosen.append(int(i))
                free &= far[i]
        best = max(best, chosen, key=len)
    return best


def _farthest(metric: np.ndarray, threshold: float) -> list[int]:
    if not len(metric):
        raise InputError("packing", "at least one member", 0)
    chosen = [int(np.nan_to_num(metric).max(axis=1).argmax())]
    nearest = metric[chosen[0]].copy()
    while True:
        i = int(np.nan_to_num(nearest).argmax())
        if not nearest[i] > threshold:
            return chosen
        chosen.append(i)
        nearest = np.minimum(nearest, metric[i])


def greedy(
    F: np.ndarray,
    ε: float,
    rng: np.random.Generator | None = None,
    restarts: int = 8,
    scale: float | None = None,
) -> LowerBound:
    """log N(ε) of any class that holds members with outputs F (count, points, width).

    ``scale`` bounds the numbers that were computed on the way, if they were larger than F.

    >>> print(greedy(np.array([[-1.0], [0.0], [1.0]]), 0.4))
    at least 1.09861 (3 of 3 members, more than 2ε apart)
    >>> greedy(np.array([[-1.0], [0.0], [1.0]]), 0.5).value       # exactly 2ε apart is not enough
    0.693...
    """
    F = np.asarray(F, dtype=float)
    size = float(np.abs(F).max(initial=0.0))
    threshold = needed(ε, size if scale is None else max(scale, size))
    count = len(separated(distances(F), threshold, rng, restarts))
    return LowerBound(down(math.log(count)), f"{count} of {len(F)} members, more than 2ε apart")


def network(
    node: Node,
    signal: Signal,
    ε: float,
    rng: np.random.Generator,
    members: int = 200,
    examples: int = 32,
) -> LowerBound:
    """log N(ε) of a network in the sup metric of its outputs, on drawn inputs like ``signal``.

    Rounding inside the network acts like a relative change of weights and signals; what that does
    to the output, by the network's own facts, is the scale of the margin.

    >>> import dudley as du
    >>> net = du.Head(2, W_QK=du.L11(3.0), W_v=du.L11(1.0)) >> du.Readout(w=du.L2(1.0))
    >>> signal = du.Tokens(1.0, T=3).signal(2)
    >>> lower = network(net, signal, 0.05, np.random.default_rng(0))
    >>> 2 < lower.value < du.capacity(net, du.Tokens(1.0, T=3)).entropy(0.05)
    True
    """
    F = outputs(
        node,
        draw_parameters(node, signal.width, members, rng),
        inputs(signal, examples, rng),
    )
    if node.facts(signal).out.metric is Metric.LOGITS:
        F = F.reshape(len(F), -1, 1)  # measured entry by entry
    return greedy(F, ε, rng, scale=sensitivity(node, signal))


def sensitivity(node: Node, signal: Signal) -> float:
    """How far the output moves, at most, per relative change of every weight and signal."""
    facts = node.facts(signal)
    total = facts.lipschitz * signal.radius + facts.out.radius
    for use in facts.uses:
        if isinstance(use.parameter, Parameter):
            for log in np.ravel(use.weight.log):
                total = total + use.parameter.norm() * (math.exp(min(log, 700.0)) * use.copies)
    return float(total)

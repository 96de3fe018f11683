"""``du.attack``: try to break a bound of one's own.

A class is a network description, on inputs like ``Tokens``, or a pair (sampler, forward map), on
points of one's own. A claim is a function: of ε, for a log covering number in the sup metric of
outputs over points, or of n, for a Rademacher or offset complexity. Whatever comes back as a lower
bound is true; a claim below one is broken.

>>> import numpy as np
>>> def disk(rng, count):  # vectors of norm at most 1
...     a = rng.normal(size=(count, 2))
...     return a / np.maximum(1, np.linalg.norm(a, axis=1, keepdims=True))
>>> result = attack((disk, lambda a, X: X @ a), lambda ε: 0.5 * np.log(4 / ε**2),
...                 bounds="covering number", at=0.1, points=np.eye(2))
>>> print(result)
covering number at 0.1: at least 3.8... (4... members, more than 2ε apart), claimed 2.99573: broken
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dudley.calculus.compose import Node
from dudley.core.errors import InputError, UnknownName
from dudley.networks.capacity import input_width
from dudley.networks.embeddings import Tokens
from dudley.witness import packings, suprema
from dudley.witness.lower import LowerBound
from dudley.witness.members import inputs as draw_inputs

QUANTITIES = ("covering number", "Rademacher complexity", "offset complexity")
Claim = Callable[[float], float] | float


@dataclass(frozen=True)
class Point:
    """A claim at one ε or n, and what was found there."""

    at: float
    lower: LowerBound
    claimed: float

    @property
    def broken(self) -> bool:
        return not self.claimed >= self.lower.value * (1 - 1e-12)


@dataclass(frozen=True)
class Attacked:
    """What became of a claim."""

    bounds: str
    points: tuple[Point, ...]

    @property
    def broken(self) -> bool:
        """Is the claim below something true, somewhere?"""
        return any(point.broken for point in self.points)

    def __str__(self) -> str:
        return "\n".join(
            f"{self.bounds} at {p.at:g}: {p.lower}, claimed {p.claimed:.6g}: "
            + ("broken" if p.broken else "stands")
            for p in self.points
        )


def attack(
    subject: Node | tuple[Callable, Callable],
    claim: Claim,
    *,
    bounds: str,
    at,
    points=None,
    inputs: Tokens | None = None,
    β: float = 0.0,
    members: int = 1000,
    seed: int = 0,
    δ: float = 1e-9,
) -> Attacked:
    """Lower bounds on what is claimed, at one or more resolutions ε or sample sizes n.

    ``bounds`` is one of "covering number" (natural log), "Rademacher complexity" and "offset
    complexity" (with β); ``at`` the ε or n, or several of them. A network takes ``inputs``; a
    pair takes ``points``, an array of inputs along its first axis (the first n of them for a
    complexity): ``sampler(rng, count)`` gives weights along a first axis, ``forward(weights,
    points)`` the outputs of one member, (points,) or (points, outputs). All members that the
    sampler yields must belong to the class.
    """
    if bounds not in QUANTITIES:
        raise UnknownName("quantity", bounds, QUANTITIES)
    if (bounds == "offset complexity") != (β > 0):
        raise InputError("β", "a number > 0 for an offset complexity, and only there", β)
    rng = np.random.default_rng(seed)
    find = _on_network if isinstance(subject, Node) else _on_members
    data = inputs if isinstance(subject, Node) else points
    if data is None:
        what = ("inputs", "Tokens(…)") if isinstance(subject, Node) else ("points", "an array")
        raise InputError(what[0], what[1], "none")
    found = []
    for x in np.atleast_1d(np.asarray(at, dtype=float)).tolist():
        if not 0 < x < math.inf:
            raise InputError("at", "finite numbers > 0", x)
        lower = find(subject, data, bounds, x, β, members, rng, δ)
        found.append(Point(x, lower, _claimed(claim, x)))
    return Attacked(bounds, tuple(found))


def _claimed(claim: Claim, at: float) -> float:
    value = float(claim(at)) if callable(claim) else float(claim)
    if math.isnan(value):
        raise InputError("claim", f"a number at {at:g}", "NaN")
    return value


def _on_members(subject, points, bounds, at, β, members, rng, δ) -> LowerBound:
    """From the outputs of drawn members alone: they are a class inside the class."""
    sampler, forward = subject
    points = np.asarray(points, dtype=float)
    if bounds != "covering number":
        if at != int(at) or at > len(points):
            raise InputError("at", f"integers up to the {len(points)} points", at)
        points = points[: int(at)]
    F = np.stack([np.asarray(forward(w, points), dtype=float) for w in sampler(rng, members)])
    if not np.isfinite(F).all():
        raise InputError("forward map", "finite outputs", "others")
    if bounds == "covering number":
        return packings.greedy(F.reshape(len(F), len(points), -1), at, rng)
    if F.ndim != 2:
        raise InputError("forward map", "one output for a complexity", F.shape[2:])
    finite = suprema.FiniteClass(F, β)
    n = len(points)
    draws = None if n <= suprema.ENUMERATED else rng
    return suprema.rademacher(finite, n, finite.size, draws, δ=δ)


def _on_network(network, inputs, bounds, at, β, members, rng, δ) -> LowerBound:
    """Packings of drawn members for covering numbers, gradient ascent for complexities."""
    width = input_width(network) or inputs.d
    if width is None:
        raise InputError("inputs", "Tokens(d=…) for a network that leaves its width open", "none")
    signal = inputs.signal(width)
    if bounds == "covering number":
        return packings.network(network, signal, at, rng, members=members)
    from dudley.audit.complexity import offset_below, rademacher_below

    X = draw_inputs(signal, int(at), rng)
    own = int(rng.integers(2**31))
    if β > 0:
        return offset_below(network, X, β=β, δ=δ, seed=own)
    return rademacher_below(network, X, δ=δ, seed=own)

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
from dudley.core.constraint import radius_of, size_of
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
        return self.claimed < self.lower.value - 1e-12 * abs(self.lower.value)


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
    sampler yields must belong to the class, and outputs must be right to 1e-12 of the largest: they
    are asked for in float64. A complexity is that on the given points, or on inputs that are drawn.
    """
    if bounds not in QUANTITIES:
        raise UnknownName("quantity", bounds, QUANTITIES)
    if (bounds == "offset complexity") != (β > 0):
        raise InputError("β", "a number > 0 for an offset complexity, and only there", β)
    radius_of("β", β)
    size_of("members", members)
    if not 0 < δ < 1:
        raise InputError("δ", "a number strictly between 0 and 1", δ)
    rng = np.random.default_rng(seed)
    find = _on_network if isinstance(subject, Node) else _on_members
    data = _data(subject, points, inputs)
    asked = np.atleast_1d(np.asarray(at, dtype=float)).tolist()
    if not asked or not all(0 < x < math.inf for x in asked):
        raise InputError("at", "one or more finite numbers > 0", at)
    if bounds != "covering number":
        asked = [size_of("at", x) for x in asked]
    found = []
    for x in asked:
        lower = find(subject, data, bounds, x, β, members, rng, δ)
        found.append(Point(x, lower, _claimed(claim, x)))
    return Attacked(bounds, tuple(found))


def _data(subject, points, inputs):
    """What the class is evaluated on: tokens for a network, an array for a pair."""
    if isinstance(subject, Node):
        if inputs is None or points is not None:
            raise InputError("inputs", "Tokens(…) for a network, and no points", inputs)
        return inputs
    if not (
        isinstance(subject, tuple | list) and len(subject) == 2 and all(map(callable, subject))
    ):
        raise InputError("class", "a network or a pair (sampler, forward map)", subject)
    if points is None or inputs is not None or not np.ndim(points) or not len(points):
        raise InputError(
            "points",
            "an array for a pair, and no inputs",
            "none" if points is None else np.shape(points),
        )
    return np.asarray(points, dtype=float)


def _claimed(claim: Claim, at: float) -> float:
    said = claim(at) if callable(claim) else claim
    try:
        value = float(said)
    except (TypeError, ValueError):
        value = math.nan
    if math.isnan(value):
        raise InputError("claim", f"a number at {at:g}", said)
    return value


def _on_members(subject, points, bounds, at, β, members, rng, δ) -> LowerBound:
    """From the outputs of drawn members alone: they are a class inside the class."""
    sampler, forward = subject
    if bounds != "covering number":
        if at > len(points):
            raise InputError("at", f"integers up to the {len(points)} points", at)
        points = points[:at]
    F = _outputs([forward(w, points) for w in sampler(rng, members)], len(points))
    if bounds == "covering number":
        return packings.greedy(F.reshape(len(F), len(points), -1), at, rng)
    if F.ndim != 2:
        raise InputError("forward map", "one output for a complexity", F.shape[2:])
    finite = suprema.FiniteClass(F, β)
    n = len(points)
    draws = None if n <= suprema.ENUMERATED else rng
    return suprema.rademacher(finite, n, finite.size, draws, δ=δ)


def _outputs(found: list, count: int) -> np.ndarray:
    """The outputs of all members, (members, points, …): float64 (or whole numbers), finite."""
    found = [np.asarray(one) for one in found]
    if not found:
        raise InputError("sampler", "at least one member", 0)
    for one in found:
        if one.ndim not in (1, 2) or one.shape != (count, *found[0].shape[1:]):
            shape = f"({count},) or ({count}, outputs), the same for all members"
            raise InputError("forward map", f"outputs of shape {shape}", one.shape)
        if one.dtype.kind not in "biu" and one.dtype != np.float64:
            raise InputError("forward map", "outputs in float64", str(one.dtype))
        if not np.isfinite(one).all():
            raise InputError("forward map", "finite outputs", "NaN or infinity")
    return np.stack(found).astype(float)


def _on_network(network, inputs, bounds, at, β, members, rng, δ) -> LowerBound:
    """Packings of drawn members for covering numbers, gradient ascent for complexities."""
    width = input_width(network) or inputs.d
    if width is None:
        raise InputError("inputs", "Tokens(d=…) for a network that leaves its width open", "none")
    signal = inputs.signal(width)
    if bounds == "covering number":
        return packings.network(network, signal, at, rng, members=members)
    from dudley.audit.complexity import offset_below, rademacher_below

    X = draw_inputs(signal, at, rng)
    own = int(rng.integers(2**31))
    if β > 0:
        return offset_below(network, X, β=β, δ=δ, seed=own)
    return rademacher_below(network, X, δ=δ, seed=own)

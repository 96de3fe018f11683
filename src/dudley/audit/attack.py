"""``du.attack``: try to break a bound of one's own.

A class is a network description, on inputs like ``Tokens``, or a pair (sampler, forward map), on
points of one's own. A claim is a function: of ε, for a log covering number in the sup metric of
outputs over points (several outputs by their ℓ2 norm, logits by the largest), or of n, for a
Rademacher or offset complexity. Whatever comes back as a lower bound is true; a claim below one is
broken. A claim that is not broken stands only if the attack would have broken a tenth of it.

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
import warnings
from collections.abc import Callable

import numpy as np

from dudley.audit.attacked import Attacked, AttackedPoint
from dudley.calculus.compose import Node
from dudley.core.constraint import radius_of, size_of
from dudley.core.errors import InputError, UnknownName
from dudley.networks.embeddings import Tokens
from dudley.theorems.witness import packings, suprema
from dudley.theorems.witness.lower import LowerBound

QUANTITIES = ("covering number", "Rademacher complexity", "offset complexity")
ClaimedBound = Callable[[float], float] | float


def attack(
    subject: Node | tuple[Callable, Callable],
    claim: ClaimedBound,
    *,
    bounds: str,
    at,
    points=None,
    inputs: Tokens | None = None,
    β: float = 0.0,
    members: int = 1000,
    draws: int = 4096,
    delta: float = 1e-9,
    budget: float = 20.0,
    seed: int = 0,
    δ: float | None = None,
) -> Attacked:
    """Lower bounds on what is claimed, at one or more resolutions ε or sample sizes n.

    ``bounds`` is one of "covering number" (natural log), "Rademacher complexity" and "offset
    complexity" (with β); ``at`` the ε or n, or several of them. A network takes ``inputs``; a
    pair takes ``points``, an array of inputs along its first axis (the first n of them for a
    complexity): ``sampler(rng, count)`` gives weights along a first axis, ``forward(weights,
    points)`` the outputs of one member, (points,) or (points, outputs). All members that the
    sampler yields must belong to the class, and outputs must be right to 1e-12 of the largest: they
    are asked for in float64.

    A complexity is that on the given points; of a network it is the largest on any n inputs, and
    the attack chooses them. ``draws`` is the number of sign vectors where not all are enumerated,
    ``delta`` the chance that a lower bound by draws is wrong, and ``budget`` the seconds at each n
    after which a network is attacked in no further way. (``δ`` is the old name of ``delta``.)
    """
    if δ is not None:
        warnings.warn("δ= is deprecated: use delta=", DeprecationWarning, stacklevel=2)
        delta = δ
    if bounds not in QUANTITIES:
        raise UnknownName("quantity", bounds, QUANTITIES)
    if (bounds == "offset complexity") != (β > 0):
        raise InputError("β", "a number > 0 for an offset complexity, and only there", β)
    radius_of("β", β)
    size_of("members", members)
    size_of("draws", draws)
    radius_of("budget", budget)
    if not 0 < delta < 1:
        raise InputError("delta", "a number strictly between 0 and 1", delta)
    rng = np.random.default_rng(seed)
    data = _data(subject, points, inputs)
    places = np.atleast_1d(np.asarray(at, dtype=float)).tolist()
    if not places or not all(0 < x < math.inf for x in places):
        raise InputError("at", "one or more finite numbers > 0", at)
    if bounds != "covering number":
        places = [size_of("at", x) for x in places]
    reached, how = [], (β, members, draws, delta, rng)
    for x in places:
        untried: tuple[str, ...] = ()
        if isinstance(subject, Node):
            lower, untried = _on_network(subject, data, bounds, x, *how, budget)
        else:
            lower = _on_members(subject, data, bounds, x, *how)
        reached.append(AttackedPoint(x, lower, _claimed(claim, x), untried))
    return Attacked(bounds, tuple(reached))


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


def _claimed(claim: ClaimedBound, at: float) -> float:
    said = claim(at) if callable(claim) else claim
    try:
        value = float(said)
    except (TypeError, ValueError):
        value = math.nan
    if math.isnan(value):
        raise InputError("claim", f"a number at {at:g}", said)
    return value


def _on_members(subject, points, bounds, at, β, members, draws, δ, rng) -> LowerBound:
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
    return suprema.rademacher(
        finite, n, finite.size, None if n <= suprema.ENUMERATED else rng, draws, δ
    )


def _outputs(outputs: list, count: int) -> np.ndarray:
    """The outputs of all members, (members, points, …): float64 (or whole numbers), finite."""
    outputs = [np.asarray(one) for one in outputs]
    if not outputs:
        raise InputError("sampler", "at least one member", 0)
    for output in outputs:
        if output.ndim not in (1, 2) or output.shape != (count, *outputs[0].shape[1:]):
            shape = f"({count},) or ({count}, outputs), the same for all members"
            raise InputError("forward map", f"outputs of shape {shape}", output.shape)
        if output.dtype.kind not in "biu" and output.dtype != np.float64:
            raise InputError("forward map", "outputs in float64", str(output.dtype))
        if not np.isfinite(output).all():
            raise InputError("forward map", "finite outputs", "NaN or infinity")
    return np.stack(outputs).astype(float)


def _on_network(
    network, inputs, bounds, at, β, members, draws, δ, rng, budget
) -> tuple[LowerBound, tuple[str, ...]]:
    """Packings of drawn members for covering numbers; complexities on inputs that suit them."""
    width = network.input_width() or inputs.d
    if width is None:
        raise InputError("inputs", "Tokens(d=…) for a network that leaves its width open", "none")
    signal = inputs.signal(width)
    if bounds == "covering number":
        return packings.network(network, signal, at, rng, members=members), ()
    from dudley.audit.network_complexity import complexity_below

    return complexity_below(network, signal, at, β, draws, δ, budget, rng)

"""Members of a class, drawn from all its corners, and what they put out.

An attack needs weights that are surely inside their set. Directions are drawn dense, signed,
sparse, of rank one, with a single entry, and as extreme points of the balls; each is then scaled
by norms computed in float64 and a factor just below 1, which pays for the rounding of those norms.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dudley.calculus.compose import Node
from dudley.calculus.facts import Parameter, Signal
from dudley.calculus.nest import entries, filled, name_of
from dudley.core.constraint import Ball, Constraint
from dudley.core.errors import InputError
from dudley.core.norms import norm_named
from dudley.theorems.witness.directions import KINDS

_ULP = 2.0**-52
_BITS = 20  # of the scale of a member of bounded rank, so that products with integers are exact


def inside(size: int) -> float:
    """The factor that keeps a scaled array of so many entries in its ball, rounding included."""
    return 1 - 1e-12 - 4 * size * _ULP


# -- members ------------------


def _direction(
    constraint: Constraint, shape: tuple[int, int], kind: int, rng: np.random.Generator
) -> np.ndarray:
    a, b = shape
    if constraint.rank is not None:  # integers, so that the rank is exact in floats
        r = int(rng.integers(1, min(constraint.rank, a, b) + 1))
        factors = rng.integers(-8, 9, size=(a, r)), rng.integers(-8, 9, size=(r, b))
        return (factors[0] @ factors[1]).astype(float)
    if kind < len(KINDS) or not constraint.balls:
        return _sparse(KINDS[kind % len(KINDS)](a, b, rng), constraint.nonzeros, rng)
    ball = constraint.balls[rng.integers(len(constraint.balls))]
    return _sparse(norm_named(ball.norm).draw_extreme(a, b, rng), constraint.nonzeros, rng)


def _sparse(D: np.ndarray, s: int | None, rng: np.random.Generator) -> np.ndarray:
    """At most s entries of D, where their number is bounded."""
    if s is None or s >= D.size:
        return D
    nonzero = np.zeros(D.size, dtype=bool)
    nonzero[rng.choice(D.size, s, replace=False)] = True
    return np.where(nonzero.reshape(D.shape), D, 0.0)


def draw(
    constraint: Constraint,
    shape: tuple[int, int],
    count: int,
    rng: np.random.Generator,
    center: np.ndarray | None = None,
) -> np.ndarray:
    """Members of a constraint set: (count, a, b), four of five on the boundary.

    A constraint knows its centres by their norms only. ``center`` is the matrix that stands for
    all of them, zero unless given: every bound for the constraint must hold for it as well.

    >>> from dudley.core.constraint import L11, Spectral
    >>> rng = np.random.default_rng(0)
    >>> W = draw(L11(2.0) & Spectral(1.0), (3, 2), 100, rng)
    >>> W.shape, bool(np.abs(W).sum(axis=(1, 2)).max() <= 2)
    ((100, 3, 2), True)
    """
    C = np.zeros(shape) if center is None else np.reshape(np.asarray(center, dtype=float), shape)
    _expect_center(constraint, C)
    members = np.empty((count, *shape))
    for i in range(count):
        D = _direction(constraint, shape, i % (len(KINDS) + 1), rng)
        t = _step(constraint, D, C) * (1.0 if rng.random() < 0.8 else rng.random())
        if constraint.rank is not None:
            mantissa, exponent = np.frexp(t)
            t = np.ldexp(np.floor(mantissa * 2.0**_BITS), exponent - _BITS)
        members[i] = _settled(constraint, C, t * D)
    return members


def _expect_center(constraint: Constraint, C: np.ndarray) -> None:
    if not C.any():
        return
    if constraint.rank is not None or constraint.nonzeros is not None:
        expected = "none where the rank or the number of nonzeros is bounded"
        raise InputError("center", expected, f"shape {C.shape}")
    for ball in constraint.balls:
        limits = ((ball.norm, ball.radius),) if ball.center is None else ball.center.norms
        for name, limit in limits:
            if norm_named(name)(C) > float(limit):
                raise InputError("center", f"{name} ≤ {float(limit):g}", norm_named(name)(C))


def _room(ball: Ball, C: np.ndarray) -> float:
    taken = 0.0 if ball.center is not None or not C.any() else norm_named(ball.norm)(C)
    return max(float(ball.radius) * inside(C.size) - taken, 0.0)


def _step(constraint: Constraint, D: np.ndarray, C: np.ndarray) -> float:
    """How far one can go from C in direction D."""
    sizes = [(_room(ball, C), norm_named(ball.norm)(D)) for ball in constraint.balls]
    return min((room / size for room, size in sizes if size > 0), default=1.0)


def _settled(constraint: Constraint, C: np.ndarray, D: np.ndarray) -> np.ndarray:
    """C + D, nearer to C where the rounding of the sum left a ball."""
    if not C.any():
        return D
    for _ in range(60):
        W = C + D
        sizes = [
            norm_named(ball.norm)(W if ball.center is None else W - C) / float(ball.radius)
            for ball in constraint.balls
            if ball.radius > 0
        ]
        if max(sizes, default=0.0) <= inside(C.size) + 0.5e-12:
            return W
        D = 0.5 * D
    return C


# -- networks ------------------


def transposed(constraint: Constraint) -> Constraint:
    """The set of the transposes."""
    balls = []
    for ball in constraint.balls:
        if ball.center is not None:
            raise InputError("transposed constraint", "no centre", str(constraint))
        balls.append(replace(ball, norm=norm_named(ball.norm).transposed))
    return replace(constraint, balls=tuple(balls))


def draw_parameters(node: Node, width: int, count: int, rng: np.random.Generator) -> list:
    """Nests of weights for ``node.apply``: one for each member.

    Uses of one tie share one matrix (or its transpose), which obeys the constraints of all of
    them. What is not trained is drawn once, the same for every member.

    >>> import dudley as du
    >>> net = du.Head(2, W_QK=du.L11(3.0), W_v=du.L11(1.0)) >> du.Readout(w=du.L2(1.0))
    >>> nests = draw_parameters(net, 2, 5, np.random.default_rng(0))
    >>> len(nests), sorted(nests[0][0]), nests[0][1]["w"].shape
    (5, ['W_QK', 'W_v'], (2, 1))
    """
    nest, _ = node.parameters(width)
    leaves = list(entries(nest))
    shared: dict[Any, tuple[tuple[int, int], Constraint, bool]] = {}
    for path, parameter in leaves:
        shape, constraint, trained = shared.get(
            _owner(path, parameter), (parameter.shape, None, False)
        )
        mine = (
            parameter.constraint if parameter.shape == shape else transposed(parameter.constraint)
        )
        both = mine if constraint is None else constraint & mine
        shared[_owner(path, parameter)] = (shape, both, trained or parameter.trained)
    drawn = {}
    for owner, (shape, constraint, trained) in shared.items():
        W = draw(constraint, shape, count if trained else 1, rng)
        drawn[owner] = W if trained else np.broadcast_to(W, (count, *shape))
    nests = []
    for i in range(count):
        arrays = {}
        for path, parameter in leaves:
            W = drawn[_owner(path, parameter)][i]
            arrays[name_of(path)] = W if W.shape == parameter.shape else W.T
        nests.append(filled(nest, arrays))
    return nests


def _owner(path: tuple, parameter: Parameter) -> tuple | str:
    return path if parameter.constraint.tie is None else parameter.constraint.tie


def inputs(signal: Signal, count: int, rng: np.random.Generator) -> np.ndarray:
    """Inputs of a signal, (count, T, d): rows within its radius, many of them extreme.

    Rows of an ℓ1 ball are along the axes: a signal cannot say whether all of the ball is meant or
    one-hot rows alone (``OneHot``), and what is true on these is true on both.

    >>> from dudley.core.magnitude import Magnitude
    >>> X = inputs(Signal(Magnitude.of(2.0), 3, 4), 10, np.random.default_rng(0))
    >>> X.shape, bool(np.linalg.norm(X, axis=-1).max() <= 2)
    ((10, 3, 4), True)
    """
    T, d, R = int(signal.rows), signal.width, float(signal.radius)
    if signal.l1 is not None and signal.l1 <= 1:
        return np.eye(d)[rng.integers(d, size=(count, T))] * (R * inside(d))
    X = rng.standard_normal((count, T, d))
    kinds = rng.integers(4, size=(count, T))
    X[kinds == 1] = np.eye(d)[rng.integers(d, size=(kinds == 1).sum())]
    X[kinds == 2] = np.sign(X[kinds == 2])
    X[::4, 1:] = X[::4, :1] * rng.choice([-1.0, 1.0], size=(len(X[::4]), T - 1, 1))  # one line
    sizes = np.linalg.norm(X, axis=-1, keepdims=True)
    if signal.l1 is not None:
        sizes = np.maximum(sizes, np.abs(X).sum(axis=-1, keepdims=True) / signal.l1)
    return X * (R * inside(d) / sizes)


def outputs(node: Node, nests: list, X: np.ndarray) -> np.ndarray:
    """What the members put out on inputs X (n, T, d): (members, n·rows, width)."""
    outputs_of = [np.asarray(node.apply(nest, X)) for nest in nests]
    return np.stack([F.reshape(-1, F.shape[-1]) for F in outputs_of])

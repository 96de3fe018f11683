"""Where a weight matrix lives: an intersection of norm balls with centres, a rank, a sparsity.

``L11(20) & Spectral(3)`` is an intersection; ``Ball("fro", 1.0, center=W0)`` is the set of
matrices near an initialisation. A radius that was read off after seeing the data is an
:class:`Observed` number: it prints like any float, but no guarantee accepts it until a union
bound has paid for it (``calculus.union``).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from dudley.core.errors import InputError
from dudley.core.norms import NORMS, ByNorm, implied, norm_named
from dudley.core.rounding import up


class Observed(float):
    """A number read off after seeing the data: a diagnostic until a union bound pays for it.

    What is computed from it is observed as well; only an explicit ``float(…)`` takes the mark off.

    >>> 2 * Observed(2.0) + 1
    Observed(5.0)
    """

    def __repr__(self) -> str:
        return f"Observed({float(self)})"


def _marked(operation: Callable[..., float]) -> Callable[..., float]:
    def marked(self: float, *others: float) -> float:
        value = operation(float(self), *others)
        return value if value is NotImplemented else Observed(value)

    return marked


for _name in [
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "pow",
    "neg",
    "abs",
]:
    setattr(Observed, f"__{_name}__", _marked(getattr(float, f"__{_name}__")))


def radius_of(what: str, value: object) -> float:
    """A finite number ≥ 0, with its *observed* status kept; anything else is refused."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise InputError(what, "a finite number ≥ 0", repr(value))
    if (isinstance(value, int) and value > sys.float_info.max) or not 0 <= float(value) < math.inf:
        raise InputError(what, "a finite number ≥ 0", value)
    return value if isinstance(value, Observed) else float(value)


def size_of(what: str, value: object) -> int:
    """An integer ≥ 1 below 2^53 (1e6 is accepted), with its *observed* status kept."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputError(what, "an integer ≥ 1", repr(value))
    if not (1 <= value < 2.0**53) or value != int(value):
        raise InputError(what, "an integer ≥ 1", value)
    return value if isinstance(value, Observed) else int(value)  # pyright: ignore[reportReturnType]


@dataclass(frozen=True)
class Center:
    """The centre of a ball, known by upper bounds on its norms."""

    norms: tuple[tuple[str, float], ...]
    shape: tuple[int, int] | None = None

    @classmethod
    def of(cls, value: Any) -> Center:
        """From an array (its norms, rounded up) or from a mapping of norm names to bounds.

        The spectral norm of an array is bounded by the Schur test and the Frobenius norm, which
        needs no iteration; pass ``{"op": …}`` with a certified value where that is too large.
        """
        if isinstance(value, Center):
            return value
        if isinstance(value, dict):
            return cls(
                tuple((norm_named(k).name, radius_of(f"center.{k}", v)) for k, v in value.items())
            )
        try:
            W = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise InputError("center", "a matrix, or norms by name", repr(value)) from None
        if W.ndim not in (1, 2) or not np.isfinite(W).all():
            raise InputError("center", "a finite matrix or vector", f"array of shape {W.shape}")
        sums = [name for name, norm in NORMS.items() if norm.supplies("from_sums")]
        slack = 4 + W.size  # a sum of that many rounded terms
        norms = tuple((name, float(up(norm_named(name)(W), slack))) for name in sums)
        return cls(norms, (W.shape[0], 1) if W.ndim == 1 else W.shape)


@dataclass(frozen=True)
class Ball:
    """{W : norm(W − center) ≤ radius}."""

    norm: str
    radius: float
    center: Center | None = None

    def __post_init__(self) -> None:
        radius_of(f"radius of the {norm_named(self.norm).name} ball", self.radius)


@dataclass(frozen=True)
class Constraint:
    """An intersection of balls, and possibly a bound on the rank and on the number of nonzeros.

    >>> (L11(20) & Spectral(3)).bounds((64, 64))["op"]
    3.0
    """

    balls: tuple[Ball, ...]
    rank: int | None = field(default=None, metadata={"round": "integer"})
    tie: str | None = None  # uses of one tie name are uses of one parameter
    nonzeros: int | None = field(default=None, metadata={"round": "integer"})

    def tied(self, name: str) -> Constraint:
        """The same set, for a parameter that is shared under this name."""
        return replace(self, tie=name)

    def __and__(self, other: Constraint) -> Constraint:
        ranks = [r for r in (self.rank, other.rank) if r is not None]
        counts = [s for s in (self.nonzeros, other.nonzeros) if s is not None]
        return Constraint(
            self.balls + other.balls,
            min(ranks, default=None),
            self.tie or other.tie,
            min(counts, default=None),
        )

    def bounds(self, shape: tuple[int, int]) -> ByNorm:
        """Upper bounds on every norm of W itself."""
        return _bounds(self, shape, NORMS.changes)

    def deviations(self, shape: tuple[int, int]) -> Deviations:
        """For each centre, upper bounds on every norm of W − center: what a cover must cover."""
        return _deviations(self, shape, NORMS.changes)

    def only(self, norm: str) -> bool:
        """Is this exactly one ball of that norm, so that its members are all there is?"""
        alone = self.rank is None and self.nonzeros is None and len(self.balls) == 1
        return alone and self.balls[0].norm == norm

    def __str__(self) -> str:
        parts = [
            f"{b.norm} ≤ {float(b.radius):g}" + (" around a centre" if b.center else "")
            for b in self.balls
        ]
        parts += [f"rank ≤ {self.rank}"] if self.rank is not None else []
        parts += [f"nonzeros ≤ {self.nonzeros}"] if self.nonzeros is not None else []
        return " & ".join(parts)


Deviations = list[tuple[Center | None, ByNorm]]
FREE = Constraint(())  # a place for weights of which nothing is known


@lru_cache(maxsize=4096)
def _deviations(constraint: Constraint, shape: tuple[int, int], changes: int) -> Deviations:
    """``changes``, of the table of norms, is there for the cache alone."""
    groups: dict[Center | None, list[tuple[str, float]]] = {}
    for ball in constraint.balls:
        groups.setdefault(ball.center, []).append((ball.norm, float(ball.radius)))
    deviations: Deviations = []
    for center, radii in groups.items():
        bounds = implied(tuple(radii), shape, constraint.rank if center is None else None)
        if center is None and constraint.nonzeros is not None:
            few = _of_few(bounds["linf"], constraint.nonzeros)
            bounds = implied((*radii, *few), shape, constraint.rank)
        deviations.append((center, bounds))
    return deviations


def _of_few(linf: float, s: int) -> tuple[tuple[str, float], ...]:
    """s entries of size ≤ linf: ‖W‖_F ≤ √s·linf and ‖W‖_{1,1} ≤ s·linf."""
    return ("fro", float(up(math.sqrt(s) * linf))), ("l11", float(up(s * linf)))


@lru_cache(maxsize=4096)
def _bounds(constraint: Constraint, shape: tuple[int, int], changes: int) -> ByNorm:
    best = dict.fromkeys(NORMS, math.inf)
    for center, deviation in _deviations(constraint, shape, changes):
        zero = dict.fromkeys(NORMS, 0.0)
        offset = zero if center is None else implied(center.norms, shape, None)
        for name in NORMS:
            total = deviation[name] + offset[name]
            best[name] = min(best[name], float(up(total)) if center else total)
    return implied(tuple(best.items()), shape, constraint.rank)


def ball(norm: str, radius: float, center: object = None) -> Constraint:
    """{W : norm(W − center) ≤ radius}, the norm by its name.

    >>> print(ball("row21", 2.0))
    row21 ≤ 2
    """
    name = norm_named(norm).name
    where = None if center is None else Center.of(center)
    return Constraint((Ball(name, radius_of(f"radius of the {norm} ball", radius), where),))


def Rank(r: float) -> Constraint:
    """Matrices of rank at most r; combine it with a norm: ``Rank(4) & Spectral(1)``."""
    return Constraint((), size_of("rank", r))


def Nonzeros(s: float) -> Constraint:
    """Matrices with at most s entries other than 0; combine it with a norm.

    >>> print(Nonzeros(4) & LInf(1.0))
    linf ≤ 1 & nonzeros ≤ 4
    """
    return Constraint((), nonzeros=size_of("nonzeros", s))


class Constructor(Protocol):
    """A function that makes a ball of one norm."""

    def __call__(self, radius: float, center: object = None) -> Constraint: ...


def constructor(name: str) -> Constructor:
    """The public function of this name, which makes a ball of the norm that lists it."""
    norm = next(norm for _, norm in NORMS.items() if name in dict(norm.constructors))

    def make(radius: float, center: object = None) -> Constraint:
        return ball(norm.name, radius, center)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = dict(norm.constructors)[name]
    return make


L11, L1 = constructor("L11"), constructor("L1")
L2, Frobenius = constructor("L2"), constructor("Frobenius")
LInf = constructor("LInf")
Spectral, Nuclear = constructor("Spectral"), constructor("Nuclear")
Col21, Row21 = constructor("Col21"), constructor("Row21")
Col2Inf, Row2Inf = constructor("Col2Inf"), constructor("Row2Inf")
Col1Inf, Row1Inf = constructor("Col1Inf"), constructor("Row1Inf")

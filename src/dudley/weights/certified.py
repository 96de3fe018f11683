"""Norms of concrete weights with certified ends: what is called an upper end is one.

A tensor of any float format is read as the real matrix it stores (x ↦ xW, W ∈ R^{in×out}, names as
in ``core.norms``), and every number is bounded with rounding errors included. ``spectral``,
``product_spectral``, ``stable_rank``, ``nuclear`` and ``interval`` give both ends, ``norms`` the
upper ends of all norms at once. ``device="cuda"`` moves the heavy products to a GPU; the bounds
hold there too.

>>> from dudley.core.norms import NORMS
>>> upper = norms([[3.0, 0.0], [4.0, 0.0]])
>>> list(upper) == list(NORMS)
True
>>> [0 <= upper[name] - exact < 1e-13 for name, exact in (("op", 5), ("col21", 5), ("row21", 7))]
[True, True, True]
>>> difference([[3.0]], [[2.5]])["l11"] - 0.5 < 1e-13
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.norms import NORMS, ByNorm, norm_named
from dudley.core.rounding import outward
from dudley.weights.entries import Entries
from dudley.weights.interval import ZERO, Interval
from dudley.weights.products import product_spectral
from dudley.weights.ranks import (
    Rank,
    by_inertia,
    check_tolerance,
    nuclear,
    numerical_rank,
    singular_values,
    stable,
    stable_rank,
)
from dudley.weights.spectral import certificate, of_entries, spectral
from dudley.weights.sums import names, sums

__all__ = [
    "Interval",
    "Measured",
    "Rank",
    "difference",
    "frobenius",
    "interval",
    "measured",
    "norms",
    "nuclear",
    "numerical_rank",
    "product_spectral",
    "singular_values",
    "spectral",
    "stable_rank",
]

SINGULAR = {"op": spectral, "nuc": nuclear}  # norms of the singular values, which sums do not give


def norms(W, device: str = "cpu") -> ByNorm:
    """Upper ends of every norm of ``core.norms`` that can be certified.

    ``nuc`` is the least of √r‖W‖_F, r‖W‖ with r = min(m, n), the sums of the row or column norms:
    a bound, not the value; ``nuclear`` has the value, for the price of a decomposition.
    """
    return _all(Entries.of(W, device=device))


@dataclass(frozen=True)
class Measured:
    """Everything about one matrix: ``norms`` from above, the rest between two ends."""

    norms: ByNorm
    op: Interval
    stable_rank: Interval
    rank: Rank | None


def measured(W, tolerance: float | None = None, device: str = "cpu") -> Measured:
    """All of it from one Gram matrix; the rank, where a tolerance is given, by its inertia.

    >>> seen = measured([[2.0, 0.0], [0.0, 1.0]], tolerance=0.1)
    >>> seen.op.contains(2.0), seen.stable_rank.contains(1.25), int(seen.rank)
    (True, True, 2)
    """
    if tolerance is not None:
        check_tolerance(tolerance)
    entries = Entries.of(W, device=device)
    if not entries.largest:
        none = None if tolerance is None else Rank(0, 0, tolerance)
        return Measured(nothing(), ZERO, ZERO, none)
    proof = certificate(entries)
    upper = _upper(entries, proof.op.shifted(entries.exponent))
    rank = None if tolerance is None else by_inertia(proof, tolerance)
    if tolerance is not None and rank is not None and not rank.exact:
        rank = numerical_rank(W, tolerance, device)  # asks the singular values of a small matrix
    op = Interval(proof.op.shifted(entries.exponent).lower, upper["op"])
    return Measured(upper, op, stable(proof), rank)


def difference(W, W0, device: str = "cpu") -> ByNorm:
    """Upper ends of every norm of W − W0: the distance from initialisation."""
    return _all(Entries.of(W, W0, device=device))


def interval(norm: str, W, device: str = "cpu") -> Interval:
    """Both ends of the norm of this name.

    >>> interval("nuc", [[3.0, 0.0], [0.0, -4.0]]).contains(7.0)
    True
    """
    known = norm_named(norm)
    if known.name in SINGULAR:
        return SINGULAR[known.name](W, device=device)
    if not known.supplies("from_sums"):
        raise known.lacks("from_sums")
    return sums(Entries.of(W, device=device))[known.name]


def frobenius(W, device: str = "cpu") -> Interval:
    """The Frobenius norm."""
    return sums(Entries.of(W, device=device))["fro"]


def _all(entries: Entries) -> ByNorm:
    return _upper(entries, of_entries(entries))


def _upper(entries: Entries, op: Interval) -> ByNorm:
    """Every norm from above; op no larger than Frobenius and the Schur test allow."""
    upper = {name: x.upper for name, x in sums(entries).items()}
    schur = outward(math.sqrt(upper["row1inf"]) * math.sqrt(upper["col1inf"]))
    upper["op"] = min(op.upper, upper["fro"], schur)
    return complete(upper, min(entries.shape))


def complete(upper: dict[str, float], rank: int) -> ByNorm:
    """These upper ends, and those that follow from them for other norms, in the usual order."""
    for name, norm in NORMS.items():
        if name not in upper and norm.supplies("from_others"):
            upper[name] = norm.from_others(upper, rank)
    return ByNorm({name: upper[name] for name in NORMS if name in upper})


def nothing() -> ByNorm:
    """The norms of a matrix of zeros: those that are measured of any matrix."""
    return ByNorm(dict.fromkeys(complete(dict.fromkeys((*names(), "op"), 0.0), 0), 0.0))

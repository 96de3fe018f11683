"""Norms of concrete weights with certified ends: what is called an upper end is one.

A tensor of any float format is read as the real matrix it stores (x ↦ xW, W ∈ R^{in×out}, names as
in ``core.norms``), and every number is bounded with rounding errors included. ``spectral``,
``product_spectral``, ``stable_rank`` and ``nuclear`` give both ends, ``norms`` the upper ends of
all norms at once. ``device="cuda"`` moves the heavy products to a GPU; the bounds hold there too.

>>> from dudley.core.norms import NORMS
>>> found = norms([[3.0, 0.0], [4.0, 0.0]])
>>> list(found) == list(NORMS)
True
>>> [0 <= found[name] - exact < 1e-13 for name, exact in (("op", 5), ("col21", 5), ("row21", 7))]
[True, True, True]
>>> difference([[3.0]], [[2.5]])["l11"] - 0.5 < 1e-13
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dudley.core.errors import InputError
from dudley.core.norms import NORMS
from dudley.core.rounding import up
from dudley.measure.backend import torch
from dudley.measure.entries import Entries
from dudley.measure.interval import ZERO, Interval, U
from dudley.measure.products import product_spectral
from dudley.measure.ranks import (
    Rank,
    by_inertia,
    check_tolerance,
    nuclear,
    numerical_rank,
    singular_values,
    stable,
    stable_rank,
)
from dudley.measure.spectral import certificate, of_entries, spectral
from dudley.measure.sums import sums

__all__ = [
    "Interval",
    "Measured",
    "Rank",
    "dequantised",
    "difference",
    "frobenius",
    "measured",
    "norms",
    "nuclear",
    "numerical_rank",
    "product_spectral",
    "singular_values",
    "spectral",
    "stable_rank",
]


def norms(W, device: str = "cpu", slack: float = 0.0) -> dict[str, float]:
    """Upper ends of every norm of ``core.norms``.

    ``nuc`` is the least of √r‖W‖_F, r‖W‖ with r = min(m, n), the sums of the row or column norms:
    a bound, not the value; ``nuclear`` has the value, for the price of a decomposition.
    ``slack`` is the relative distance of the true entries from W's (see ``dequantised``).
    """
    return _all(Entries.of(W, device=device, slack=slack))


@dataclass(frozen=True)
class Measured:
    """Everything about one matrix: ``norms`` from above, the rest between two ends."""

    norms: dict[str, float]
    op: Interval
    stable_rank: Interval
    rank: Rank | None


def measured(
    W, tolerance: float | None = None, device: str = "cpu", slack: float = 0.0
) -> Measured:
    """All of it from one Gram matrix; the rank, where a tolerance is given, by its inertia.

    >>> seen = measured([[2.0, 0.0], [0.0, 1.0]], tolerance=0.1)
    >>> seen.op.contains(2.0), seen.stable_rank.contains(1.25), int(seen.rank)
    (True, True, 2)
    """
    if tolerance is not None:
        check_tolerance(tolerance)
    entries = Entries.of(W, device=device, slack=slack)
    if not entries.largest:
        none = None if tolerance is None else Rank(0, 0, tolerance)
        return Measured(dict.fromkeys(NORMS, 0.0), ZERO, ZERO, none)
    proof = certificate(entries)
    found = _upper(entries, proof.op.shifted(entries.exponent))
    rank = None if tolerance is None else by_inertia(proof, tolerance)
    if tolerance is not None and rank is not None and not rank.exact and not slack:
        rank = numerical_rank(W, tolerance, device)  # asks the singular values of a small matrix
    op = Interval(proof.op.shifted(entries.exponent).lower, found["op"])
    return Measured(found, op, stable(proof), rank)


def difference(W, W0, device: str = "cpu") -> dict[str, float]:
    """Upper ends of every norm of W − W0: the distance from initialisation."""
    return _all(Entries.of(W, W0, device=device))


def frobenius(W, device: str = "cpu") -> Interval:
    """The Frobenius norm."""
    return sums(Entries.of(W, device=device))["fro"]


def dequantised(q, scale, zero_point=0) -> tuple[torch.Tensor, float]:
    """(q − zero_point)·scale in float64, and the slack of that: 0 where every product is exact.

    ``scale`` and ``zero_point`` are numbers or tensors that broadcast against q (one per row:
    shape m×1; one per column: 1×n). An integer below 2²⁸ times a float32 is a float64; a scale
    that needs more bits than a float32 has costs half a unit in the last place, u = 2⁻⁵³.

    >>> dequantised(torch.tensor([[-128, 127]], dtype=torch.int8), 0.5)
    (tensor([[-64.0000,  63.5000]], dtype=torch.float64), 0.0)
    >>> dequantised(torch.tensor([[3]], dtype=torch.int8), 0.1)[1] == 2.0**-53
    True
    """
    q = torch.as_tensor(q)
    scale = torch.as_tensor(scale, dtype=torch.float64)
    if q.is_floating_point() or q.is_complex() or q.dtype in (torch.int64, torch.uint64):
        raise InputError("quantised weights", "integers of at most 32 bits", str(q.dtype))
    if not bool(torch.isfinite(scale).all()) or bool((scale.abs() < 2.0**-900)[scale != 0].any()):
        raise InputError("scale of quantised weights", "zero or a finite number ≥ 2⁻⁹⁰⁰", scale)
    steps = q.to(torch.float64) - torch.as_tensor(zero_point).to(torch.float64)
    short = bool((scale == scale.to(torch.float32).to(torch.float64)).all())
    small = steps.numel() == 0 or float(steps.abs().max()) < 2.0**28
    return steps * scale, 0.0 if short and small else U


def _all(entries: Entries) -> dict[str, float]:
    return _upper(entries, of_entries(entries))


def _upper(entries: Entries, op: Interval) -> dict[str, float]:
    found = {name: x.upper for name, x in sums(entries).items()}
    found["op"] = op.upper
    return _completed(found, min(entries.shape))


def _completed(found: dict[str, float], rank: int) -> dict[str, float]:
    """op no larger than Frobenius and the Schur test allow; nuc from what is known."""
    schur = _outward(math.sqrt(found["row1inf"]) * math.sqrt(found["col1inf"]))
    found["op"] = min(found["op"], found["fro"], schur)
    found["nuc"] = min(
        _outward(math.sqrt(rank) * found["fro"]),
        _outward(rank * found["op"]),
        found["col21"],
        found["row21"],
    )
    return {name: found[name] for name in NORMS}


def _outward(x: float) -> float:
    return 0.0 if x == 0 else math.nextafter(up(x), math.inf)

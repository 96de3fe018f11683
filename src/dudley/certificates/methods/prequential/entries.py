"""What one call logs: losses, sizes and places, checked before anything is written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dudley.certificates.methods.prequential.declared import PassDeclared
from dudley.certificates.methods.prequential.units import UnitOrder
from dudley.core.errors import InputError

Places = int | Sequence[int] | Sequence[str] | np.ndarray | None


def expect_entries(
    declared: PassDeclared, losses: Any, sizes: Any
) -> tuple[np.ndarray, np.ndarray | None]:
    """Losses and sizes as arrays, refused unless they are of the declared kind."""
    x, bits = numbers_of(losses), declared.loss == "bits"
    if (sizes is not None) is not bits:
        raise InputError("sizes", "one for every loss in bits, and only there", sizes)
    if x.ndim != 1 or not len(x):
        raise InputError("losses", "a list of numbers, one for every unit", f"shape {x.shape}")
    size = whole(sizes, "sizes") if bits else None
    if size is not None and (size.shape != x.shape or size.min() < 1):
        raise InputError("sizes", f"{len(x)} whole numbers ≥ 1", f"shape {size.shape}")
    most = declared.limit * (1 if size is None else size)
    if not ((x >= 0) & (x <= most)).all():
        fix = "smoothing gives bits a limit; a clipped loss is another loss"
        got = f"{x.min():g} to {x.max():g}"
        raise InputError("losses", f"0 to the limit, {declared.limit:g}", got, fix)
    if declared.loss == "error" and not ((x == 0) | (x == 1)).all():
        raise InputError("losses", "0 or 1 for every unit", "others", 'declare loss="bounded"')
    extent = declared.extent
    if extent is not None and size is not None:
        low, high = int(size.min()), int(size.max())
        if not extent.shortest <= low <= high <= extent.longest:
            expected = f"{extent.shortest} to {extent.longest}, as declared"
            raise InputError("sizes", expected, f"{low} to {high}")
    return x, size


def places_of(units: Places, n: int, following: int, order: UnitOrder | None) -> np.ndarray:
    """The places of n units in the order: given as such, by names, or those that follow.

    An order ends with its last unit: whoever goes on reads units that were learnt from.
    """
    places = _places(units, n, following, order)
    if order is not None and places.max() >= order.n:
        got, fix = f"unit {places.max():,}", "a second epoch is no test: log the first one alone"
        raise InputError("units", f"the {order.n:,} units of the order", got, fix)
    return places


def _places(units: Places, n: int, following: int, order: UnitOrder | None) -> np.ndarray:
    if units is None:
        units = following
    if isinstance(units, int):
        if units < 0:
            raise InputError("units", "places ≥ 0 in the order", units)
        return units + np.arange(n)
    if len(units) and isinstance(units[0], str):
        if order is None or any(name not in order.places for name in units):
            raise InputError("units", "names of the order", "others")
        units = [order.places[str(name)] for name in units]
    places = whole(units, "units")
    if places.shape != (n,) or (np.diff(places) <= 0).any() or places.min() < 0:
        raise InputError("units", f"{n} growing places in the order", f"shape {places.shape}")
    return places


def whole(values: Any, what: str) -> np.ndarray:
    """Whole numbers of a list, an array or a tensor."""
    x = numbers_of(values)
    if (x != np.floor(x)).any():
        raise InputError(what, "whole numbers", f"{x[x != np.floor(x)][0]:g}")
    return x.astype(np.int64)


def numbers_of(values: Any) -> np.ndarray:
    """A list, an array or a tensor as float64."""
    if hasattr(values, "detach"):
        values = values.detach().double().cpu().numpy()
    x = np.asarray(values, np.float64)
    if not np.isfinite(x).all():
        got = "NaN" if math.isnan(float(x.sum())) else "infinity"
        raise InputError("losses", "finite numbers", got, "a unit without a loss has the largest")
    return x

"""Tie: one cover for the uses of a shared parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dudley.calculus.allocate import log_sum
from dudley.calculus.facts import Parameter, Use
from dudley.core.errors import InputError
from dudley.core.magnitude import Magnitude


def tie_together(uses: Sequence[Use]) -> list[Use]:
    """Merge the uses of each shared parameter: weights add, and so do points.

    Uses of one shape and form share a cover of all their points, if none of these points depends
    on the centre that is chosen there, and a cover of uniform scope otherwise. Uses that differ
    (an embedding and its transpose) share a cover in spectral norm, which both orientations have
    in common.
    """
    shared: dict[str, list[Use]] = {}
    alone = []
    for use in uses:
        (shared.setdefault(use.tie, []) if use.tie is not None else alone).append(use)
    circular = _circular([use for use in uses if use.tie is not None])
    return alone + [_merged(name, group, name in circular) for name, group in shared.items()]


def _circular(uses: list[Use]) -> set[str]:
    """The shared parameters whose points depend on their own centre, directly or by others."""
    behind: dict[str, set[str]] = {use.tie or "": set() for use in uses}
    for i, use in enumerate(uses):
        again = [use] if np.size(use.weight.log) > 1 else []  # the layers of a Repeat
        later = [other for other in uses[i + 1 :] if not _apart(use.place, other.place)]
        behind[use.tie or ""] |= {other.tie or "" for other in again + later}
    for middle in behind:
        for first in behind:
            if middle in behind[first]:
                behind[first] |= behind[middle]
    return {name for name in behind if name in behind[name]}


def _apart(here: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """Do two places part at the summands of a sum, so that neither sees the other's output?"""
    steps = zip(here, there, strict=False)
    return next((a.startswith("+") for a, b in steps if a != b), False)


def _merged(name: str, group: list[Use], circular: bool) -> Use:
    log_total = log_sum(
        np.concatenate([np.ravel(use.weight.log) + math.log(use.copies) for use in group])
    )
    first = group[0]
    merged = replace(
        first,
        name=name,
        weight=Magnitude(float(log_total)),
        copies=1,
        rows=sum(use.rows * use.count for use in group),
        pairs=sum(use.pairs * use.count for use in group),
    )
    if all((u.parameter, u.form, u.l1) == (first.parameter, first.form, first.l1) for u in group):
        return replace(merged, uniform=circular)
    assert isinstance(first.parameter, Parameter)
    shapes = {use.parameter.shape for use in group if isinstance(use.parameter, Parameter)}
    if not shapes <= {first.parameter.shape, first.parameter.shape[::-1]}:
        raise InputError(f"tied parameter {name}", "one shape or its transpose", sorted(shapes))
    return replace(merged, parameter=first.parameter.map.entropy().uniform())

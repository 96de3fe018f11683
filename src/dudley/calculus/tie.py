"""Tie: one cover for the uses of a shared parameter, and the order in which centres are chosen.

What a use sees depends on the centres of the uses before it. So the centres are chosen one after
the other, each on points that the earlier ones decide, as long as no parameter is used behind
itself. *Entangled* parameters are: each is used, directly or by way of the others, before and
behind itself (layers in sequence that share their weights). They are chosen together, by covers of
uniform scope or by adaptive ones (``classes.covers.sequence``), whose corrections name their points
as the process reaches them.

A block of its own between two uses of entangled parameters sees points that their centres decide,
and decides points of theirs. There its cover on points would have to be chosen anew after every
correction; so around a block that has such covers the entangled parameters are covered uniformly.
They are then chosen first of all, and that block afterwards, on points that are given by then.

A block whose inputs lie in the unit ℓ1 ball of R^a (a bias, a gain, an embedding of positions) and
which counts a points or more is covered on the basis: ‖xΔ‖ ≤ Σ |x_i| ‖e_iΔ‖ ≤ max ‖e_iΔ‖. Its
points are given, wherever it stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dudley.calculus.allocate import log_sum
from dudley.calculus.facts import Parameter, Use
from dudley.core.entropy import Entropy
from dudley.core.errors import InputError
from dudley.core.magnitude import Magnitude


def tie_together(uses: Sequence[Use]) -> list[Use]:
    """Merge the uses of each shared parameter: weights add, and so do points.

    Uses of one shape and form share a cover of all their points: one on given points, if none of
    these depends on the centre that is chosen there, and else as the module says. Uses that differ
    (an embedding and its transpose) share a cover in spectral norm, which both orientations have
    in common.
    """
    shared: dict[str, list[Use]] = {}
    alone = []
    for use in uses:
        (shared.setdefault(use.tie, []) if use.tie is not None else alone).append(use)
    merged = [_merged(name, group) for name, group in shared.items()]
    if not merged:
        return alone
    entangled = _entangled(uses)
    return alone + [replace(use, **entangled.get(use.name, {})) for use in merged]


def _entangled(uses: Sequence[Use]) -> dict[str, dict]:
    """For each entangled parameter, how its centre is chosen."""
    every = [(i, use) for i, use in enumerate(uses) if not _on_the_basis(use)]
    names = list(dict.fromkeys(use.tie for _, use in every if use.tie is not None))
    tied = [(names.index(here[1].tie), here) for here in every if here[1].tie is not None]
    behind = np.zeros((len(names), len(names)), dtype=bool)  # is the second used behind the first?
    for a, here in tied:
        for b, there in tied:
            if not behind[a, b] and _sees(there, here):
                behind[a, b] = True
    for middle in range(len(names)):
        behind[behind[:, middle]] |= behind[middle]
    ways: dict[str, dict] = {}
    for a, name in enumerate(names):
        if not behind[a, a] or name in ways:
            continue
        turn = behind[a] & behind[:, a]
        members = [here for b, here in tied if turn[b]]
        between = any(
            any(_sees(here, member) for member in members)
            and any(_sees(member, here) for member in members)
            and here[1].entropy.uses_points
            for here in every
            if here[1].tie is None
        )
        way = {"uniform": True} if between else {"together": int(turn.sum())}
        ways |= dict.fromkeys((names[b] for b in np.flatnonzero(turn)), way)
    return ways


def _on_the_basis(use: Use) -> bool:
    """Does a cover on the basis serve all inputs, and is it among those on so many points?"""
    if isinstance(use.parameter, Entropy) or use.l1 is None or use.form == "bilinear":
        return False
    return use.l1 <= 1 and use.rows >= use.parameter.shape[0]


def _sees(later: tuple[int, Use], earlier: tuple[int, Use]) -> bool:
    """May the one use see what the other has put out, in the same layer of a Repeat or in the next?

    Uses come with their positions in the order of computation.
    """
    (j, there), (i, here) = later, earlier
    if _repeated(there) and _repeated(here) and _in_the_same_layers(there.place, here.place):
        return True
    return i < j and not _apart(here.place, there.place)


def _repeated(use: Use) -> bool:
    """Does the use stand for several layers?"""
    return np.size(use.weight.log) > 1


def _in_the_same_layers(here: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """May two places, of uses in repeated layers, be inside of one Repeat?"""
    for a, b in zip(here, there, strict=False):
        if a != b or a == "*":
            return a == b
    return True


def _apart(here: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """Do two places part at the summands of a sum, so that neither sees the other's output?"""
    steps = zip(here, there, strict=False)
    return next((a.startswith("+") for a, b in steps if a != b), False)


def _merged(name: str, group: list[Use]) -> Use:
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
        return merged
    assert isinstance(first.parameter, Parameter)
    shapes = {use.parameter.shape for use in group if isinstance(use.parameter, Parameter)}
    if not shapes <= {first.parameter.shape, first.parameter.shape[::-1]}:
        raise InputError(f"tied parameter {name}", "one shape or its transpose", sorted(shapes))
    return replace(merged, parameter=first.parameter.map.entropy().uniform())

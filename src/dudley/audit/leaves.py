"""Leaves: the arrays in a network's nest of parameters, and the use that bounds each.

``parameters`` of a node gives dictionaries and lists, nested as ``apply`` expects arrays. A leaf is
one place in that nest; its name is that of the use in the node's facts. Leaves whose constraints
carry one tie name are one array, transposed where the shapes are.

>>> import dudley as du
>>> net = du.Head(4, du.Spectral(1.0), du.Spectral(2.0)) >> du.Readout(du.L2(1.0))
>>> [leaf.name for leaf in leaves(net, net.parameters(4)[0])]
['0.W_v', '0.W_QK', '1.w']
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dudley.calculus.facts import Facts, Parameter, Use
from dudley.calculus.nest import at
from dudley.calculus.node import Node, own_entries
from dudley.core.constraint import Constraint

Path = tuple[int | str, ...]


@dataclass(frozen=True)
class Leaf:
    """One array of the nest: where it is, what it is, and the name of its use."""

    path: Path
    parameter: Parameter
    name: str
    layer: int | None

    @property
    def label(self) -> str:
        return ".".join(map(str, self.path))

    def use(self, facts: Facts) -> Use | None:
        return next((u for u in facts.uses if u.name == self.name), None)

    def weight(self, facts: Facts) -> float:
        """Output change per unit error of this block, as the facts declare it."""
        use = self.use(facts)
        if use is None:
            return math.nan
        log = np.ravel(use.weight.log)
        with np.errstate(over="ignore"):
            return float(np.exp(log[self.layer if log.size > 1 and self.layer is not None else 0]))


def leaves(node: Node, nest, prefix="", path: Path = (), layer: int | None = None) -> list[Leaf]:
    """The leaves of a nest of parameters, named as the uses of the node's facts are."""
    inside = [
        leaf
        for part in node.parts()
        for leaf in leaves(
            part.node,
            at(nest, part.path),
            prefix + part.prefix,
            (*path, *part.path),
            layer if part.layer is None else part.layer,
        )
    ]
    return inside + [
        Leaf((*path, *entry), parameter, f"{prefix}{entry[-1]}", layer)
        for entry, parameter in own_entries(node, nest)
    ]


def nest_like(nest, arrays: Mapping[Path, Any], path: Path = ()):
    """The nest of arrays with the structure of a nest of parameters."""
    if isinstance(nest, dict):
        return {n: arrays[(*path, n)] for n in nest}
    return [nest_like(own, arrays, (*path, i)) for i, own in enumerate(nest)]


def ties_of(everything: list[Leaf]) -> dict[Path, tuple[Path, bool]]:
    """Leaf → (the first leaf of the same tie, whether it is its transpose)."""
    first: dict[str, Leaf] = {}
    ties: dict[Path, tuple[Path, bool]] = {}
    for leaf in everything:
        tie = leaf.parameter.constraint.tie
        if tie is None:
            continue
        master = first.setdefault(tie, leaf)
        if master is not leaf:
            ties[leaf.path] = (master.path, master.parameter.shape != leaf.parameter.shape)
    return ties


def masters(everything: list[Leaf], ties: Mapping[Path, tuple[Path, bool]]) -> list[Leaf]:
    """The leaves that are arrays of their own, each in every set that its ties ask for."""
    free = {leaf.path: leaf for leaf in everything if leaf.path not in ties}
    for leaf in everything:
        if leaf.path in ties:
            path, transposed = ties[leaf.path]
            parameter = free[path].parameter
            constraint = (
                _turned(leaf.parameter.constraint) if transposed else leaf.parameter.constraint
            )
            if (
                constraint.balls != parameter.constraint.balls
                or constraint.rank != parameter.constraint.rank
            ):
                free[path] = replace(
                    free[path],
                    parameter=replace(parameter, constraint=parameter.constraint & constraint),
                )
    return list(free.values())


def _turned(constraint: Constraint) -> Constraint:
    """What a constraint on Wᵀ says of W: rows and columns change places."""
    swap = {"row": "col", "col": "row"}
    balls = [
        replace(b, norm=swap.get(b.norm[:3], b.norm[:3]) + b.norm[3:]) for b in constraint.balls
    ]
    return replace(constraint, balls=tuple(balls))


def with_ties(arrays: dict[Path, Any], ties: Mapping[Path, tuple[Path, bool]]) -> dict[Path, Any]:
    """Every leaf's array, those of tied leaves taken from their masters."""
    everything = dict(arrays)
    for path, (master, transposed) in ties.items():
        everything[path] = arrays[master].swapaxes(-1, -2) if transposed else arrays[master]
    return everything

"""Nodes where they stand: their local facts, and how the errors of their blocks reach the output.

The walk is by the rule of composition alone: a node's errors pass through the nodes behind it in a
chain (layers of a Repeat are one), and a residual connection or a sum passes them on. What comes
out is what ``Facts.uses`` has, and a test compares the two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dudley.calculus.augment import behind, facts_with_alarm
from dudley.calculus.compose import Chain, Heads, Parallel, Residual
from dudley.calculus.facts import Facts, Parameter, Signal, Use
from dudley.calculus.node import Node, Part, entering
from dudley.calculus.repeat import Repeat
from dudley.core.magnitude import ONE, ZERO, Magnitude, largest
from dudley.networks.proof.steps import Numbers, ProofStep, ProofValue, power_of

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity


PASSING = (Chain, Repeat, Residual, Parallel, Heads)


@dataclass(frozen=True, eq=False)
class PlacedNode:
    """A node where it stands: its input, its facts, and the slope and alarm of all behind it.

    What is inside any node but those of the calculus is ``wrapped``: its blocks are told of by the
    node around it, which alone knows how their errors reach its output.
    """

    place: str
    node: Node
    into: Signal
    facts: Facts
    slope: Magnitude
    alarm: Magnitude
    times: int = 1
    wrapped: bool = False

    @property
    def passes(self) -> bool:
        """Does it pass on the errors of its parts, and has no blocks beside them?"""
        return isinstance(self.node, PASSING)


def placed(
    node: Node,
    signal: Signal,
    place: str = "",
    slope: Magnitude = ONE,
    alarm: Magnitude = ZERO,
    times: int = 1,
    wrapped: bool = False,
) -> Iterator[PlacedNode]:
    """A node and all inside it, in the order of computation; of equal heads one, ``times`` many."""
    facts = facts_with_alarm(node, signal)
    here = PlacedNode(place, node, signal, facts, slope, alarm, times, wrapped)
    yield from _parts(here)
    yield here


def _parts(here: PlacedNode) -> Iterator[PlacedNode]:
    """What is inside the node, in the order of computation."""
    parts = list(entering(here.node, here.into))
    names = [_name(part, here.place) for part, _ in parts]
    slope, alarm, ways = here.slope, here.alarm, {}
    for (part, into), name in zip(reversed(parts), reversed(names), strict=True):
        ways.setdefault(name, (part.node, into, slope, alarm))
        if not part.reads_input:  # but what comes from the part before
            facts = facts_with_alarm(part.node, into)
            alarm = largest(facts.alarm or ZERO, behind(facts.lipschitz, alarm))
            slope = slope * facts.lipschitz
    for name, (node, into, behind_it, alarms) in reversed(ways.items()):
        times = here.times * names.count(name)
        wrapped = here.wrapped or not here.passes
        yield from placed(node, into, name, behind_it, alarms, times, wrapped)


def _name(part: Part, place: str) -> str:
    """A place: steps with points between them, a layer in brackets."""
    prefix = part.prefix.rstrip(".")
    if part.layer is not None:
        return f"{place}[{part.layer + 1}]"
    return f"{place}.{prefix}" if place and prefix else place or prefix


def layered(name: str, index: int, shape: tuple[int, ...]) -> str:
    """The name of one layer's block: its stars, from the outside, are the last axes of a weight.

    >>> layered("2.*.0.W", 4, (12,))
    '2[5].0.W'
    """
    for layer in reversed(np.unravel_index(index, shape)) if shape else ():
        name = re.sub(r"(^|\.)\*", f"[{int(layer) + 1}]", name, count=1)
    return name


def steps(capacity: Capacity) -> list[ProofStep]:
    """A step for each kind of node, and the composition after them."""
    nodes = list(placed(capacity.network, capacity.signal))
    by_lemma: dict[str, list[PlacedNode]] = {}
    for here in nodes:
        by_lemma.setdefault(here.node.lemma.title, []).append(here)
    blocks = _blocks(nodes, capacity.alarmed)
    local, composed = [], []
    for group in by_lemma.values():
        lemma, facts = group[0].node.lemma, Numbers("", HEADS, tuple(map(_row, group)))
        if lemma == Chain.lemma:
            composed.append(ProofStep(lemma, (COMPOSED,), (facts, blocks)))
        else:
            local.append(ProofStep(lemma, (), (facts,)))
    return [*local, *(composed or [ProofStep(Chain.lemma, (COMPOSED,), (blocks,))])]


HEADS = ("node", "kind", "times", "input radius", "output radius", "Lipschitz")
COMPOSED = (
    "A block's own weight is what the output of its node moves by per unit error of the block's "
    "map; times the Lipschitz constants of the nodes behind it, this is its weight w in the "
    "network. A number in brackets counts the layers."
)


def _row(here: PlacedNode) -> tuple[ProofValue, ...]:
    facts = here.facts
    numbers = (here.into.radius.log, facts.out.radius.log, facts.lipschitz.log)
    place = here.place or "network"
    return (place, type(here.node).__name__, here.times, *map(power_of, numbers))


def _blocks(nodes: list[PlacedNode], alarmed: bool) -> Numbers:
    """Each block of weights: its constraint, its weight in its node and in the network."""
    heads = ("block", "times", "own weight", "slopes behind", "w")
    rows = [row for here in nodes for row in _block_rows(here, alarmed)]
    return Numbers("blocks of weights", (*heads, *("alarm",) * alarmed, "constraint"), tuple(rows))


def _block_rows(here: PlacedNode, alarmed: bool) -> Iterator[tuple[ProofValue, ...]]:
    for use in () if here.passes or here.wrapped else here.facts.uses:
        weights, shape = np.ravel(use.weight.log), np.shape(use.weight.log)
        alarms = np.broadcast_to(largest(use.alarm, behind(use.weight, here.alarm)).log, shape)
        for index, weight in enumerate(weights.tolist()):
            name = ".".join(filter(None, (here.place, layered(use.name, index, shape))))
            slope = float(here.slope.log)
            product = math.inf if math.isnan(weight + slope) else weight + slope
            numbers = [power_of(weight), power_of(slope), power_of(product)]
            if alarmed:
                numbers.append(power_of(np.ravel(alarms)[index]))
            yield (name, use.copies * here.times, *numbers, _constraint(use))


def _constraint(use: Use) -> str:
    if not isinstance(use.parameter, Parameter):
        return "given"
    rows, columns = use.parameter.shape
    return f"{rows}×{columns}, {use.parameter.constraint}"

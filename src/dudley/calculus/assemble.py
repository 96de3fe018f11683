"""Assemble: the entropy of a network from the uses of its blocks, and its facts.

The facts come from the nodes (``compose``), shared blocks are covered once (``tie``), and the
resolution is split between blocks (``allocate``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dudley.calculus.allocate import Allocated, WeightBlock
from dudley.calculus.augment import facts_with_alarm
from dudley.calculus.facts import Facts, Signal, Use
from dudley.calculus.memory import remembered
from dudley.calculus.node import Node
from dudley.calculus.tie import tie_together
from dudley.classes.best import BestOf
from dudley.core.errors import InputError
from dudley.core.magnitude import Magnitude

CoverNames = tuple[str, ...] | None  # the only ones to use, by name; all of them where it is None


def compose(network: Node, signal: Signal, covers: CoverNames = None) -> tuple[Allocated, Facts]:
    """The entropy of the network on inputs like ``signal``, and its facts.

    ``covers`` restricts every block to the covers of these names: a paper's own way.
    """
    if np.ndim(signal.radius.log) or not hashable(network):
        return _composed(network, signal, covers)
    facts = (float(signal.radius.log), signal.rows, signal.width, signal.l1, signal.metric)
    return _composed_once(network, facts, covers)


def hashable(network: Node) -> bool:
    """Can results for this network be remembered?"""
    try:
        hash(network)
    except TypeError:
        return False
    return True


@remembered(64)
def _composed_once(network: Node, facts: tuple, covers: CoverNames) -> tuple[Allocated, Facts]:
    log_R, *others = facts
    return _composed(network, Signal(Magnitude(log_R), *others), covers)


def _composed(network: Node, signal: Signal, covers: CoverNames) -> tuple[Allocated, Facts]:
    facts = facts_with_alarm(network, signal)
    return allocated(facts.uses, covers, float(np.max(facts.out.radius.log))), facts


def allocated(
    uses: Sequence[Use], covers: CoverNames = None, log_output: float = math.inf
) -> Allocated:
    """The entropy of blocks that are used like that, shared ones covered once.

    ``log_output`` is of the radius of the outputs, where what is covered are outputs.
    """
    blocks = []
    for use in tie_together(uses):
        entropy = use.entropy
        if isinstance(entropy, BestOf):
            entropy = entropy.only(covers)
        blocks.append(WeightBlock(use.name, entropy, use.weight, use.copies))
    if not blocks:
        raise InputError("network", "at least one block of trained weights", "none")
    return Allocated(tuple(blocks), log_output)

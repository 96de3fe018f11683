"""Prove: the bound of a network lemma by lemma, each with the network's own numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dudley.calculus.union import Grid, pay
from dudley.networks.proof import ending, local
from dudley.networks.proof.steps import Proof

if TYPE_CHECKING:
    from dudley.networks.capacity import Capacity


def prove(
    capacity: Capacity,
    delta: float = 0.05,
    train_error: float | None = None,
    union: Grid | None = None,
) -> Proof:
    """The proof of ``capacity.gap(delta, train_error=…, union=…)``, in the order of its steps.

    Nodes, their composition, what was paid for; covers, their split, the loss, the chain, the
    deviation. Where a training error is given, one scale stands for the last three. Without n only
    nodes and composition have numbers.
    """
    paid, payments = (capacity, []) if union is None else pay(capacity, union)
    steps = [*local.steps(paid), *ending.union(payments)]
    if capacity.n is None:
        return Proof((*steps, *ending.without_n(paid, delta, train_error)), None, None)
    bound = capacity.gap(delta, union=union, train_error=train_error)
    last = ending.chained if train_error is None else ending.at_one_scale
    return Proof((*steps, *last(paid, bound)), bound, float(capacity.n))

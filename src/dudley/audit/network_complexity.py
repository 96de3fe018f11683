"""The complexity of a network class from below, on whichever inputs show the most of it.

A bound for inputs of a given norm holds on every sample of them, so the attack may choose the
sample. Three ways, from the quickest to the slowest:

* n copies of one input (``copies``): exact, nothing is drawn, and it costs a constant of the best;
* inputs along the axes, all weights fixed but the readout (``readouts``): suprema in closed form;
* drawn inputs, gradient ascent over all weights for every sign vector (``complexity``).

Each is a lower bound, so the largest is one. Those that draw signs are wrong with probability at
most δ/2 each, so all of them hold at once but for a chance δ. The choice of what to leave out when
the budget is spent does not look at any value, and needs no price.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from dudley.audit.complexity import offset_below
from dudley.audit.copies import basis_rows, copies_below, together, visits
from dudley.audit.readouts import LEAST, VISITED, readout_below
from dudley.calculus.compose import Node
from dudley.calculus.facts import Signal
from dudley.theorems.witness.lower import LowerBound
from dudley.theorems.witness.members import inputs

RESTARTS, STEPS = 2, 20  # of the ascents on drawn inputs
VISITS = 2**24  # of the entries of rows and scores, in all ascents of one way: a few seconds
EVERY_SIGN = 6  # inputs up to which all signs are climbed
DRAWN = 2  # ways that draw signs

Way = Callable[[], LowerBound | None]


def complexity_below(
    network: Node,
    signal: Signal,
    n: int,
    β: float,
    draws: int,
    δ: float,
    budget: float,
    rng: np.random.Generator,
) -> tuple[LowerBound, tuple[str, ...]]:
    """The largest lower bound on n inputs, and the ways that the budget (in seconds) left out."""
    deadline = time.monotonic() + budget
    best, untried = copies_below(network, signal, n, β, rng), []
    for name, way in _ways(network, signal, n, β, draws, δ, rng):
        if time.monotonic() >= deadline:
            untried.append(name)
            continue
        lower = way()
        if lower is not None and lower.value > best.value:
            best = LowerBound(lower.value, lower.method, δ if lower.δ else 0.0)
    return best, tuple(untried)


def _ways(network, signal, n, β, draws, δ, rng) -> Iterator[tuple[str, Way]]:
    """The ways that take sign vectors, where the sizes leave them power."""
    few = min(n, signal.width)
    if VISITED * visits(few, signal) <= VISITS:
        X = basis_rows(signal, few)
        yield "closed-form readout", lambda: readout_below(network, X, n, β, draws, δ / DRAWN, rng)
    rows = VISITS // (RESTARTS * STEPS * visits(n, signal))
    every = n <= EVERY_SIGN and 2**n <= rows
    if every or min(rows, draws) >= LEAST:
        rows = 2**n if every else min(rows, draws)
        yield "ascent", lambda: _ascent(network, signal, n, β, rows, δ / DRAWN, rng)


def _ascent(network, signal, n, β, rows, δ, rng) -> LowerBound:
    X, seed = inputs(signal, n, rng), int(rng.integers(2**31))
    return offset_below(network, X, β, rows, RESTARTS, STEPS, δ, seed, at_once=together(X))

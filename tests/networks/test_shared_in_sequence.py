"""A weight that is used behind itself is covered for all inputs at once, not on its points."""

from __future__ import annotations

import numpy as np
import pytest

import dudley as du
from dudley.audit.problem import signal_of
from dudley.calculus.compose import Chain, Heads, Parallel, Repeat, compose
from dudley.classes.covers.base import COVERS
from dudley.core.entropy import Scope

d, N = 64, 10.0**4
W = du.Col21(1.0)  # a class for which the cover on points is the smallest at this n
UNIFORM = tuple(name for name in COVERS if COVERS[name].scope is Scope.UNIFORM)


def dense(name: str | None = None) -> du.Dense:
    return du.Dense(d, W if name is None else W.tied(name))


def entropies(network, covers=None) -> np.ndarray:
    """log log N at three resolutions."""
    entropy, _ = compose(network, signal_of(1.0, 4, d), covers)
    return entropy.log_log(np.log([0.3, 0.5, 0.7]), np.log(N))


IN_SEQUENCE = {
    "repeated layers": Repeat(dense("W"), 3),
    "a chain": dense("W") >> dense("W"),
    "a chain with others between": dense("W") >> du.Activate("tanh") >> dense("W"),
    "behind a sum": Chain((Parallel((dense("W"), du.Activate("tanh"))), dense("W"))),
    "two within one node": du.Head(d, W_QK=W, W_v=W.tied("W"), W_c=W.tied("W")),
    "before one another in turn": Parallel(
        (dense("A") >> dense("B"), Chain((dense("B"), dense("A"))))
    ),
}
APART = {
    "one use": Chain((dense("W"), du.Activate("tanh"))),
    "one layer": Repeat(dense("W"), 1),
    "summands": Parallel((dense("W"), dense("W"))),
    "heads of one shape": Heads(dense("W"), 3),
    "summands in one order": Parallel((dense("A") >> dense("B"), dense("A") >> dense("B"))),
}


def shared_alone(network) -> bool:
    return all(use.tie is not None for use in network.facts(signal_of(1.0, 4, d)).uses)


@pytest.mark.parametrize("what", IN_SEQUENCE)
def test_in_sequence_only_covers_for_all_inputs_are_used(what: str):
    network = IN_SEQUENCE[what]
    entropy, _ = compose(network, signal_of(1.0, 4, d))
    by_name = {block.name: block.entropy for block in entropy.blocks}
    assert not any(by_name[name].uses_points for name in by_name.keys() & {"W", "A", "B"})
    if shared_alone(network):
        np.testing.assert_array_equal(entropies(network), entropies(network, UNIFORM))


@pytest.mark.parametrize("what", APART)
def test_apart_the_covers_on_points_stay(what: str):
    network = APART[what]
    assert (entropies(network) < entropies(network, UNIFORM)).all()


def test_weights_of_their_own_keep_covers_on_points_around_a_shared_one():
    network = dense("W") >> dense() >> dense("W")
    entropy, _ = compose(network, signal_of(1.0, 4, d))
    points = {block.name: block.entropy.uses_points for block in entropy.blocks}
    assert points == {"W": False, "1.W": True}

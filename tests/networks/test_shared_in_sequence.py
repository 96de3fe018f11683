"""Weights used behind themselves: covered uniformly or by words of corrections, on no given points.

The networks that the calculus orders are written out layer by layer in ``expanded_graph``, and the
words are written and read in ``words_of_corrections``.
"""

from __future__ import annotations

import numpy as np
import pytest

import dudley as du
import expanded_graph
import oracles
from dudley.audit.problem import signal_of
from dudley.calculus import tie
from dudley.calculus.assemble import compose
from dudley.calculus.compose import Chain, Heads, Parallel
from dudley.calculus.facts import Parameter, Use
from dudley.calculus.repeat import Repeat
from dudley.classes.covers.base import COVERS
from dudley.core.entropy import Scope
from dudley.core.magnitude import ONE
from each import each
from words_of_corrections import EXAMPLES, check_words

d, N = 64, 10.0**4
W = du.Col21(1.0)  # a class for which the cover on points is the smallest at this n
UNIFORM = tuple(name for name in COVERS if COVERS[name].scope is Scope.UNIFORM)


def dense(name: str | None = None, **more) -> du.Dense:
    return du.Dense(d, W if name is None else W.tied(name), **more)


def entropies(network, covers=None) -> np.ndarray:
    """log log N at three resolutions."""
    entropy, _ = compose(network, signal_of(1.0, 4, d), covers)
    return entropy.log_log(np.log([0.3, 0.5, 0.7]), np.log(N))


def scopes(network) -> dict[str, set[Scope]]:
    """The scopes of the covers that each block may use."""
    entropy, _ = compose(network, signal_of(1.0, 4, d))
    return {b.name: {c.scope for c in b.entropy.covers} for b in entropy.blocks}


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


@pytest.mark.parametrize("what", IN_SEQUENCE)
def test_in_sequence_no_points_are_given(what: str):
    by_name = scopes(IN_SEQUENCE[what])
    for name in by_name.keys() & {"W", "A", "B"}:
        assert by_name[name] == {Scope.UNIFORM, Scope.ADAPTIVE}
    assert (entropies(IN_SEQUENCE[what]) < entropies(IN_SEQUENCE[what], UNIFORM)).all()


def test_the_order_of_corrections_has_its_price():
    assert (entropies(IN_SEQUENCE["a chain"]) > entropies(APART["summands"])).all()


@pytest.mark.parametrize("what", APART)
def test_apart_the_covers_on_points_stay(what: str):
    network = APART[what]
    assert all(Scope.POINTS in kinds for kinds in scopes(network).values())
    assert (entropies(network) < entropies(network, UNIFORM)).all()


def test_around_a_block_of_its_own_the_shared_weight_is_covered_uniformly():
    between = dense("W") >> dense() >> dense("W")
    assert scopes(between) == {"W": {Scope.UNIFORM}, "1.W": {Scope.UNIFORM, Scope.POINTS}}
    repeated = Repeat(Parallel((dense("W"), dense())), 3)
    assert scopes(repeated) == {"W": {Scope.UNIFORM}, "*.1.W": {Scope.UNIFORM, Scope.POINTS}}
    beside = Chain((dense(), Repeat(dense("W"), 3), dense()))
    assert scopes(beside) == {
        "W": {Scope.UNIFORM, Scope.ADAPTIVE},
        "0.W": {Scope.UNIFORM, Scope.POINTS},
        "2.W": {Scope.UNIFORM, Scope.POINTS},
    }


def test_biases_and_gains_see_given_points():
    layer = Chain((dense("W", b=du.L2(1.0)), du.LayerNorm(d, gain=du.LInf(1.0))))
    by_name = scopes(Repeat(layer, 3))
    assert by_name.pop("W") == {Scope.UNIFORM, Scope.ADAPTIVE}
    assert by_name
    assert all(Scope.POINTS in kinds for kinds in by_name.values())


@each(
    ("rows", "l1", "form", "expected"),
    [
        (6, 1.0, "linear", True),
        (6, 0.5, "logits", True),
        (5, 1.0, "linear", False),  # six basis vectors are more points than five
        (6, 1.01, "linear", False),
        (6, None, "linear", False),
        (6, 1.0, "bilinear", False),
    ],
)
def test_points_are_given_where_the_basis_serves_and_is_counted(rows, l1, form, expected):
    use = Use("W", Parameter((6, 4), W), ONE, form, rows, l1=l1)
    assert tie._on_the_basis(use) == expected


def test_blocks_are_counted_that_are_chosen_together():
    network = Chain((Repeat(dense("A") >> dense("B"), 2), Repeat(dense("C"), 2)))
    uses = tie.tie_together(network.facts(signal_of(1.0, 4, d)).uses)
    assert {use.name: (use.together, use.rows) for use in uses} == {
        "A": (2, 8.0),
        "B": (2, 8.0),
        "C": (1, 8.0),
    }


def test_centres_of_random_networks_can_be_chosen_in_some_order():
    assert expanded_graph.check_orders() == set(Scope)


@pytest.mark.parametrize("layers", EXAMPLES)
def test_members_of_shared_layers_become_counted_words(layers):
    check_words(layers)


@pytest.mark.parametrize("layers", EXAMPLES)
def test_no_packing_of_shared_layers_is_larger(layers):
    """Members more than 2ε apart, somewhere in the outputs of the last layer."""
    rng = np.random.default_rng(7)
    members = rng.standard_normal((300, len(layers.ε), 2, 2))
    members *= layers.B / np.linalg.norm(members, axis=(2, 3), keepdims=True)
    X = layers.X[:, None]  # one token each
    F = np.stack(
        [layers.network.apply([{"W": W[j]} for j in layers.blocks], X) for W in members]
    ).reshape(len(members), -1, 2)
    far = np.linalg.norm(F[:, None] - F[None], axis=3).max(axis=2)
    entropy, _ = compose(layers.network, signal_of(1.0, 1, 2))
    for ε in (0.05, 0.1, 0.2, 0.4):
        packed = len(oracles.greedy_net(far, 2 * ε))
        assert packed > 2
        assert np.log(packed) <= entropy(ε, len(X))

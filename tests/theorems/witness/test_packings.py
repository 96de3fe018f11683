"""Packings of members that were drawn, and of the 2^(p²) networks."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dudley as du
from dudley.calculus.compose import Heads
from dudley.calculus.repeat import Repeat
from dudley.core.norms import NORMS
from dudley.theorems.witness.packings import (
    distances,
    greedy,
    needed,
    network,
    sensitivity,
    separated,
)
from dudley.theorems.witness.sign_networks import KINDS, SignNetwork

LINE = np.arange(7.0)[:, None]


def test_distances_are_largest_over_points_of_the_rows_norm():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(6, 4, 3))
    D = distances(F)
    for i in range(6):
        for j in range(6):
            by_hand = max(math.dist(F[i, t], F[j, t]) for t in range(4))
            assert D[i, j] == pytest.approx(by_hand)
    assert np.array_equal(distances(F[:, :, 0]), distances(F[:, :, :1]))


def test_chosen_members_are_apart_and_nothing_fits_in():
    rng = np.random.default_rng(1)
    metric = distances(rng.normal(size=(60, 3, 2)))
    for threshold in (0.5, 1.5, 3.0, 1e9):
        chosen = separated(metric, threshold, rng)
        inside = metric[np.ix_(chosen, chosen)][np.triu_indices(len(chosen), 1)]
        assert (inside > threshold).all() and len(set(chosen)) == len(chosen)
        assert (metric[:, chosen].min(axis=1) <= threshold).sum() == len(metric)
    with pytest.raises(du.InputError):
        separated(np.zeros((0, 0)), 1.0)


def test_exactly_twice_the_resolution_is_not_apart():
    """0, 1, …, 6: at ε = ½ neighbours share a centre, so only every other one is counted."""
    assert greedy(LINE, 0.5).value == pytest.approx(math.log(4))
    assert greedy(LINE, 0.499).value == pytest.approx(math.log(7))
    for ulps in (-3, -1, 0, 1, 3):  # rounding decides nothing
        ε = 0.5 * (1 + ulps * 2.0**-52)
        assert greedy(LINE, ε).value == pytest.approx(math.log(4))
        assert greedy(0.1 * LINE + 1e3, 0.1 * ε).value <= math.log(4)
    assert greedy(LINE, 0.4, scale=1e13).value == 0  # computed through numbers that large
    assert needed(0.5, 1.0) > 1.0


def test_what_is_not_a_number_is_not_apart():
    F = np.array([[math.nan], [0.0], [5.0]])
    assert greedy(F, 0.1).value == 0
    for ε in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(du.InputError):
            greedy(LINE, ε)


HEAD = du.Head(3, W_QK=du.L11(3.0), W_v=du.L11(1.0), W_c=du.L11(1.0))
S = du.Spectral
NETWORKS = {
    "head": HEAD >> du.Readout(du.L2(1.0)),
    "heads": Heads(HEAD, 2) >> du.Readout(du.L2(1.0)),
    "stack": Repeat(du.trauger_block(3, S(1.0), S(1.0), S(1.0)), 2) >> du.Readout(du.L2(1.0)),
    "encoder": du.shallow_encoder(3, 2, S(1.5), S(1.2), S(2.0), du.L2(1.0)),
    "logits": HEAD >> du.Logits(4, du.Col2Inf(1.0)),
    "rows": HEAD,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_drawn_networks_are_below_their_entropy(name):
    node, tokens = NETWORKS[name], du.Tokens(1.0, T=3)
    capacity = du.capacity(node, tokens)
    bounds = []
    for share in (0.9, 0.4, 0.1, 0.03):
        ε = share * float(capacity.facts.out.radius)
        bounds.append(network(node, tokens.signal(3), ε, np.random.default_rng(0), 80, 12))
        assert bounds[-1].δ == 0
        assert bounds[-1].value <= capacity.entropy(ε, 12)
    assert bounds[-1].value > math.log(5)


def test_a_deep_network_pays_for_its_rounding():
    """Where the facts allow rounding to grow past the outputs, no two members count as apart."""
    block = du.trauger_block(3, S(30.0), S(1.0), S(1.0))
    deep = Repeat(block, 30) >> du.Readout(du.L2(1.0))
    signal = du.Tokens(1.0, T=3).signal(3)
    assert sensitivity(deep, signal) > 1e40
    assert network(deep, signal, 1e-3, np.random.default_rng(0), 20, 4).value == 0


# -- the 2^(p²) networks ------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", [2, 3])
def test_all_sign_patterns_by_running_them(kind, more):
    net = SignNetwork(kind, 2, more)
    for share in (0.5, 0.99):
        ε = share * net.half
        assert net.run(ε).value == pytest.approx(4 * math.log(2))
        assert net.below(ε).value <= 4 * math.log(2) <= net.below(ε).value * (1 + 1e-12)
        tokens = du.Tokens(net.signs.s, T=3)
        assert net.below(ε).value <= du.capacity(net.node, tokens).entropy(ε, 4)
    assert net.run(1.01 * net.half).value < 4 * math.log(2)  # half is half of the separation
    assert net.below(net.half).value == 0


@pytest.mark.parametrize("kind", KINDS)
def test_their_weights_are_in_their_sets(kind):
    net = SignNetwork(kind, 2, 3)
    nest, _ = net.node.parameters(net.signs.d)

    def check(declared, arrays):
        if isinstance(declared, dict):
            for name, parameter in declared.items():
                assert arrays[name].shape == parameter.shape
                for ball in parameter.constraint.balls:
                    assert NORMS[ball.norm](arrays[name]) <= ball.radius * (1 + 1e-12)
        else:
            for path, other in zip(declared, arrays, strict=True):
                check(path, other)

    for signs in ([1, 1, 1, 1], [1, -1, -1, 1], [-1, -1, 1, -1]):
        check(nest, net.weights(signs))
    assert np.linalg.norm(net.signs.tokens(), axis=-1).max() <= net.signs.s * (1 + 1e-12)


def test_sign_networks_refuse():
    with pytest.raises(du.InputError):
        SignNetwork("tree", 2)
    with pytest.raises(du.InputError):
        SignNetwork("head", 4).run(0.1)

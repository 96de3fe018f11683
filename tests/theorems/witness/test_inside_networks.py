"""What networks contain, against the networks themselves: run, and bounded from above."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import dudley as du
from dudley.core.constraint import Constraint
from dudley.core.norms import NORMS
from dudley.networks.blocks import trauger_block
from dudley.theorems.witness.inside_networks import (
    NetworkClass,
    diagonal,
    entry,
    one_row,
    sizes,
    within,
)
from dudley.theorems.witness.patterns import pattern_norms

L11, L2, Spectral = du.L11, du.L2, du.Spectral


def node(network: NetworkClass) -> Any:
    """The class as nodes that run: σ(x) = x, or relu."""
    σ = "relu" if network.relu else "identity"
    if network.projected:
        assert network.W_c is not None
        blocks = du.Repeat(
            trauger_block(network.d, network.W_QK, network.W_v, network.W_c, network.k, σ),
            network.L,
        )
    else:
        head = du.Head(
            network.d, network.W_v, network.W_QK, W_c=network.W_c, k=network.k, sigma=σ, query="cls"
        )
        blocks = du.Heads(head, network.H)
    return blocks if network.w is None else blocks >> du.Readout(network.w)


def single(shape, value: float, at=(0, 0)) -> np.ndarray:
    W = np.zeros(shape)
    W[at] = value
    return W


def signed(network: NetworkClass, signs: np.ndarray, row: np.ndarray) -> Any:
    """The weights of one pattern, as the docstring has them; W_v maps v to ``row``."""
    p, q = signs.shape
    norms = pattern_norms(p, q, q)
    c = min(float(b.radius) / norms[b.norm] for b in network.W_QK.balls)
    W_QK, W_v = np.zeros((network.d, network.d)), np.zeros((network.d, network.k))
    W_QK[:p, p : p + q] = c * signs
    W_v[p + q] = row
    later = single((network.d, network.k), entry(network.W_v))
    W_c = None if network.W_c is None else single((network.k, network.d), entry(network.W_c))
    if network.projected:
        first = [{"W_QK": W_QK, "W_v": W_v}, {}, {}, {"W_c": W_c}, {}]
        other = [{"W_QK": 0 * W_QK, "W_v": later}, {}, {}, {"W_c": W_c}, {}]
        weights = [first] + [other] * (network.L - 1)
    else:
        matrices = {"W_QK": W_QK, "W_v": W_v} | ({} if W_c is None else {"W_c": W_c})
        weights = [matrices] * network.H
    width = network.k if network.W_c is None else network.d
    return weights if network.w is None else [weights, {"w": single((width, 1), entry(network.w))}]


def inputs(network: NetworkClass, p: int, q: int, T: int, s: int) -> np.ndarray:
    """The pq inputs: m tokens of either sign, zeros, s queries."""
    α, m = network.radius / (2 if network.ell1 else math.sqrt(2)), (T - s) // 2
    X = np.zeros((p, q, T, network.d))
    for a, b in itertools.product(range(p), range(q)):
        X[a, b, :m, [p + b, p + q]] = α
        X[a, b, m : 2 * m, [p + b, p + q]] = -α
        X[a, b, T - s :, a] = network.radius
    return X.reshape(p * q, T, network.d)


HEADS = {
    "rows": NetworkClass(
        5, 3, 2.0, du.Col2Inf(1.5), du.Col2Inf(0.4) & Spectral(2.0), H=2, T=3, n=9
    ),
    "readout": NetworkClass(5, 2, 2.0, L11(3.0), L11(1.0), L11(2.0), L2(0.7), T=4),
    "relu": NetworkClass(
        5, 2, 3.0, du.Row21(2.0), Spectral(1.0) & du.Col21(1.0), w=L2(2.0), relu=True, T=3, n=9
    ),
    "block": NetworkClass(5, 2, 2.0, L11(3.0), L11(0.9), L11(1.5), L2(2.0), 1, True, T=5),
    "stack": NetworkClass(5, 1, 2.0, L11(3.0), L11(0.9), L11(1.5), L2(2.0), 2, True, T=6),
    "deep": NetworkClass(5, 2, 5.0, L11(9.0), L11(3.0), L11(0.8), L2(2.0), 3, True, T=7),
    "ell1": NetworkClass(
        5, 2, 2.0, du.Row1Inf(2.0), du.Row1Inf(1.0), du.Row1Inf(1.0), L2(1.0), 2, True, T=3,
        ell1=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
def test_patterns_of_scores_are_there(name):
    """All 2^4 patterns run: on each input the outputs stand apart as far as it says."""
    network, (p, q) = HEADS[name], (2, 2)
    for T, s in network._tokens():
        X, outputs = inputs(network, p, q, T, s), []
        assert (NORMS["row1inf" if network.ell1 else "row2inf"](X.reshape(-1, network.d))) < (
            network.radius * (1 + 1e-12)
        )
        v = network.single[0]
        spread = v > entry(network.W_v)
        row = (
            np.full(network.k, v / math.sqrt(network.k)) if spread else single((1, network.k), v)[0]
        )
        for ball in network.W_v.balls:
            assert NORMS[ball.norm](row[None]) <= float(ball.radius) * (1 + 1e-12)
        for signs in itertools.product((-1.0, 1.0), repeat=p * q):
            weights = signed(network, np.reshape(signs, (p, q)), row)
            F = np.asarray(node(network).apply(weights, X))[:, -1]
            outputs.append(F)
        F = np.stack(outputs)
        apart = np.linalg.norm(F[:, None] - F[None], axis=-1).max(axis=-1)
        smallest = apart[np.triu_indices(len(F), 1)].min()
        claimed = dict(zip(network._tokens(), list(network._apart(p, q))[1:], strict=True))[T, s]
        assert smallest >= 2 * claimed > 0
        assert smallest == pytest.approx(2 * claimed, rel=1e-6)  # and it does not give away any


@pytest.mark.parametrize("name", [n for n, network in HEADS.items() if network.w is not None])
def test_the_first_values_are_linear(name):
    """With |x·v| up to the limit the output is the gain times x·v, on basis inputs."""
    network, rng = HEADS[name], np.random.default_rng(0)
    assert network.w is not None
    for ε in (0.4, 0.05, 1e-3):
        bound = network.values(ε)
        assert bound.value > 0 or ε == 0.4
    gain = math.prod(f for f, _ in network.behind(*network.single)) * entry(network.w)
    most, running = math.inf, 1.0
    for factor, shortened in network.behind(*network.single):
        most = min(most, 1 / running) if shortened else most
        running *= factor
    most = min(most, 1 / running) if network.projected else most
    X = network.radius * np.eye(network.d)[:, None, :].repeat(2, axis=1)  # two equal tokens
    column = rng.uniform(-1, 1, network.d)
    column *= min(most / network.radius, 1e3) * 0.999
    if network.relu:
        W_v = np.stack([np.maximum(column, 0), np.maximum(-column, 0)], axis=1)
        w = entry(network.w) / math.sqrt(2) * np.array([[1.0], [-1.0]])
        weights = [[{"W_QK": np.zeros((network.d, network.d)), "W_v": W_v}], {"w": w}]
        gain /= math.sqrt(2)
    else:
        weights = signed(network, np.ones((1, 1)), np.zeros(network.k))
        first = weights[0][0][0] if network.projected else weights[0][0]
        first["W_QK"] = 0 * first["W_QK"]
        first["W_v"] = np.pad(column[:, None], ((0, 0), (0, network.k - 1)))
    F = np.asarray(node(network).apply(weights, X))[:, -1, 0]
    np.testing.assert_allclose(F, gain * network.radius * column, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", [n for n, network in HEADS.items() if network.w is not None])
def test_the_readout_sees_every_direction(name):
    network = HEADS[name]
    p = 1 if network.k == 1 else 2
    v = diagonal(network.W_v, p)
    c = 1.0 if network.W_c is None else diagonal(network.W_c, p)
    reach = network.amplitude(network.radius * v, network.behind(v, c))
    weights = signed(network, np.ones((1, 1)), np.zeros(network.k))
    W_v = np.zeros((network.d, network.k))
    W_v[:p, :p] = v * np.eye(p)
    W_c = np.zeros((network.k, network.d))
    W_c[:p, :p] = c * np.eye(p)
    for block in weights[0]:
        head = block[0] if network.projected else block
        head["W_QK"], head["W_v"] = np.zeros((network.d, network.d)), W_v
        if network.W_c is not None:
            (block[3] if network.projected else block)["W_c"] = W_c
    x = np.zeros((1, 2, network.d))
    x[..., :p] = network.radius / math.sqrt(p)
    hidden = np.asarray(node(network).nodes[0].apply(weights[0], x))[0, -1]
    assert np.linalg.norm(hidden) == pytest.approx(reach, rel=1e-9)
    np.testing.assert_allclose(hidden[:p], reach / math.sqrt(p), rtol=1e-9)


@pytest.mark.parametrize("name", HEADS)
def test_below_every_bound(name):
    """No lower bound is above what the calculus says of the same class."""
    network = HEADS[name]
    T = 10_001 if math.isinf(network.T) else int(network.T)
    tokens = du.Tokens(network.radius, T, row1inf=network.radius if network.ell1 else None)
    cap = du.capacity(node(network), tokens)
    for ε in (2.0, 1.0, 0.5, 0.2, 0.05, 1e-3):
        for how, bound in network.each(ε):
            assert 0 <= bound.value <= cap.entropy(ε, network.n or 9), (how, ε)


def test_corners_of_balls():
    ball = L11(3.0) & Spectral(1.0) & du.Frobenius(1.2)
    for p in (1, 2, 5):
        W = diagonal(ball, p) * np.eye(p)
        sizes_of = [NORMS[b.norm](W) / float(b.radius) for b in ball.balls]
        assert max(sizes_of) == pytest.approx(1)
        row = one_row(ball, p) * np.full((1, p), 1 / math.sqrt(p))
        assert max(NORMS[b.norm](row) / float(b.radius) for b in ball.balls) == pytest.approx(1)
    assert entry(ball) == 1.0 and entry(Constraint(())) == 0.0
    assert sizes(6) == [1, 2, 4, 6] and within(ball, "linf", math.inf) is ball


def test_two_columns():
    from dudley.theorems.witness.inside_networks import _two_columns

    rng = np.random.default_rng(0)
    for name in NORMS:
        vectors = _two_columns(du.ball(name, 1.0))
        for _ in range(50):
            v = rng.standard_normal((6, 1)) * (rng.random((6, 1)) < 0.7)
            size = max(NORMS[b.norm](v) / float(b.radius) for b in vectors.balls)
            both = np.hstack([np.maximum(v, 0), np.maximum(-v, 0)])
            assert NORMS[name](both) <= size * (1 + 1e-12), name

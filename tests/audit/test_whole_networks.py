"""Shipped networks from below: what the readout shatters is run, on small shapes of them."""

import itertools
import math

import numpy as np
import pytest

import dudley as du
from dudley.audit import whole_networks as whole
from dudley.calculus.compose import Chain
from dudley.calculus.nest import entries, filled, name_of
from dudley.core.norms import norm_named
from dudley.networks.capacity import capacity
from dudley.networks.files import build, load, read


def test_a_factor_holds_for_every_direction():
    """All rows of mean 0 at once, with every block of a small BERT: one row told the truth."""
    tables = read("bert-base")
    tables["input"] |= {"T": 3, "d": 6}
    tables["layer"][0] |= {"H": 2, "repeat": 3}
    tables["layer"][0]["mlp"]["k"] = 12
    tables["layer"][0]["ln"] |= {"eps": 1e-2, "gain": {"linf": 0.5}}
    body = [part.node for part in build(tables, {}).network.stages()[:-1]]
    g, chain = whole.factor_of(body, 6, 2.0, 5), Chain(tuple(body))
    nest, _ = chain.parameters(6)
    arrays = {name_of(p): whole.member(str(p[-1]), q, True, 5) for p, q in entries(nest)}
    for path, parameter in entries(nest):
        for ball in parameter.constraint.balls:
            size = norm_named(ball.norm).value(np.array(arrays[name_of(path)]))
            assert float(size) <= ball.radius
    rows = np.linalg.qr(np.eye(6) - 1 / 6)[0][:, :5].T  # orthonormal, mean 0
    X = np.repeat(2.0 * rows[:, None], 3, axis=1)  # three equal rows
    assert np.asarray(chain.apply(filled(nest, arrays), X))[:, -1] == pytest.approx(g * rows)


def test_all_patterns_occur():
    """A head and an ℓ1 readout: the predictions of the shattering, one pattern after the other."""
    head = du.Head(d=4, W_QK=du.L11(2.0), W_v=du.L11(3.0), W_c=du.L11(1.0))
    k, R = 3, 2.0
    g = whole.factor_of([head], 4, R, k)
    assert g == pytest.approx(R * (3 / k) * (1 / k), rel=1e-5)
    readout = du.L1(1.5)
    t = whole.level(readout, g, k)
    nest, _ = head.parameters(4)
    arrays = {name_of(p): whole.member(str(p[-1]), q, False, k) for p, q in entries(nest)}
    X = R * np.eye(k, 4)[:, None]
    for signs in itertools.product([-t, t], repeat=k):
        u = np.array([*signs, 0.0])[:, None] / g
        assert np.abs(u).sum() <= 1.5
        out = np.asarray((head >> du.Readout(readout)).apply(
            [filled(nest, arrays), {"w": u}], X
        ))  # fmt: skip
        assert out.ravel() == pytest.approx(signs)


def test_losses_are_apart_as_their_formulas_say():
    net = du.Readout(du.L2(1.0))
    tokens = du.Tokens(1.0, T=1, d=4)
    loss = capacity(net, tokens, loss=du.Loss(lipschitz=2.0, range=3.0))
    assert whole.apart(loss, 0.5, -math.inf) == 2.0 and whole.apart(loss, 9.0, -math.inf) == 3.0
    ramp = capacity(net, tokens, loss=du.Margin(2.0))
    assert whole.apart(ramp, 0.5, -math.inf) == 0.25 and whole.apart(ramp, 9.0, -math.inf) == 1.0
    words = capacity(du.Logits(10, du.Spectral(1.0)), tokens, loss=du.CrossEntropy(clip=2.5))
    low = math.log(9 + math.e) - 1
    assert whole.apart(words, 1.0, -math.inf) == pytest.approx(2.5 - low)


@pytest.mark.parametrize("name", ["single-head", "trauger2024-head"])
def test_shipped_heads_are_attacked_within_their_bound(name):
    row = whole.attack_network(name, load(name))
    assert 10 < row.factor < 1000
    assert whole.AttackedNetwork.from_json(row.to_json()) == row


def test_a_network_that_turns_directions_is_refused():
    turned = du.Head(d=4, W_QK=du.L11(1.0), W_v=du.L11(1.0), W_c=du.L11(1.0), sigma="sigmoid")
    with pytest.raises(du.InputError, match="directions"):
        whole.factor_of([turned], 4, 1.0, 2)
    with pytest.raises(du.InputError, match="readout or in logits"):
        list(whole.shatterings(capacity(turned, du.Tokens(1.0, T=2))))

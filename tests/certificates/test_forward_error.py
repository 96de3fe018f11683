"""η against the same network in exact arithmetic: Arb numbers of 300 bits run through ``apply``."""

import math

import numpy as np
import pytest
from flint import arb, ctx

import dudley as du
from dudley.calculus import arithmetic as rules
from dudley.calculus.compose import Chain, Heads, Parallel, Residual
from dudley.calculus.nest import entries
from dudley.calculus.repeat import Repeat
from dudley.certificates.forward_error import forward_error
from dudley.core.constraint import FREE, Ball
from dudley.core.errors import InputError
from dudley.models.constrain import constrained
from dudley.networks.activations import Activation
from dudley.networks.embeddings import Positions
from dudley.networks.head import Head
from dudley.networks.multihead import MultiHeadAttention
from dudley.networks.outputs import Logits, Readout
from dudley.networks.pointwise import (
    MLP,
    Activate,
    Dense,
    LayerNorm,
    Pool,
    ProjectRows,
    SwiGLU,
)
from dudley.weights import certified
from each import each

D, T = 5, 4
FIXED = Head(D, FREE, v=FREE, k=2, query="fixed", sigma="identity")
SCORES = Head(D, FREE, FREE, W_c=FREE, k=3, sigma="tanh", scale=3.0)
APART = Head(D, FREE, W_Q=FREE, W_K=FREE, W_c=FREE, k=3, sigma="identity", query="cls")
MANY = MultiHeadAttention(6, 2, FREE, FREE, FREE, FREE, FREE, FREE, FREE, FREE)
NORM = LayerNorm(D, 1e-3, FREE, FREE)
NETWORKS = {
    "fixed": Chain((FIXED, Readout(FREE))),
    "scores": Chain((SCORES, Readout(FREE, pool="mean"))),
    "apart": Chain((APART, Logits(3, FREE, b=FREE))),
    "many": Chain((MANY, Readout(FREE))),
    "mlp": Chain((MLP(D, 7, FREE, FREE, "tanh", FREE, FREE), Readout(FREE))),
    "norm": Chain((NORM, Readout(FREE))),
    "capped norm": Chain((LayerNorm(D, 1e-9, FREE, FREE, least_std=0.7), Readout(FREE))),
    "gates": Chain((Dense(D, FREE, sigma="sigmoid"), Activate("swish"), Readout(FREE))),
    "two heads": Chain((Parallel((SCORES, SCORES)), Readout(FREE))),
    "heads": Chain((Heads(FIXED, 3), Readout(FREE))),
    "stack": Chain((Repeat(Residual(SCORES), 2), Activate("tanh"), Pool("mean"), Readout(FREE))),
    "positions": Chain((Positions(D, T, FREE, trained=True), NORM, APART, Readout(FREE))),
}


def exact(array):
    """The same numbers as Arb balls of radius zero."""
    return np.vectorize(arb, otypes=[object])(array)


def filled(nest, values, path=()):
    if isinstance(nest, dict):
        return {name: values[(*path, name)] for name in nest}
    return [filled(part, values, (*path, i)) for i, part in enumerate(nest)]


def built(network, rng, width, size=1.0):
    """The network with the norms of random weights, the weights, and the nest that holds them."""
    nest = network.parameters(width)[0]
    weights = {path: size * rng.standard_normal(p.shape) for path, p in entries(nest)}
    sets = {}
    for path, W in weights.items():
        norms = certified.norms(W)
        sets[path] = du.Constraint(tuple(Ball(n, norms[n]) for n in ("op", "fro", "linf")))
    return constrained(network, sets), weights, nest


def off(network, weights, nest, X):
    """The largest distance of a float64 output row from the exact one."""
    output = network.apply(filled(nest, weights), X)
    with ctx.workprec(300):
        true = network.apply(filled(nest, {p: exact(W) for p, W in weights.items()}), exact(X))
        rows = (true - exact(output)) ** 2
        return math.sqrt(max(float(sum(row).upper()) for row in rows.reshape(-1, rows.shape[-1])))


@each("name", NETWORKS)
def test_the_float_program_is_within_the_bound_and_the_bound_is_not_absurd(name):
    rng = np.random.default_rng(3)
    width = 6 if name == "many" else D
    deep = name in ("stack", "positions")  # Lipschitz constants multiply: no absurd weights
    network, weights, nest = built(NETWORKS[name], rng, width, 0.25 if deep else 1.0)
    η = forward_error(network, du.Tokens(2.0, T, width))
    seen = 0.0
    for _ in range(4):
        X = rng.standard_normal((T, width))
        X *= 2.0 / np.linalg.norm(X, axis=1).max() * (1 - 1e-12)
        seen = max(seen, off(network, weights, nest, X))
    assert 0 < seen <= η <= 1e6 * seen, f"{seen} against {η}"


def test_without_the_errors_of_products_the_check_goes_red(monkeypatch):
    monkeypatch.setattr(rules, "γ", lambda m: 0.0)
    rng = np.random.default_rng(3)
    network, weights, nest = built(Chain((Dense(D, FREE), Readout(FREE))), rng, D)
    X = rng.standard_normal((T, D))
    assert off(network, weights, nest, X) > forward_error(network, du.Tokens(8.0, T, D))


def test_rows_projected_to_the_unit_ball_in_extended_precision():
    rng = np.random.default_rng(4)
    node, seen = ProjectRows(), 0.0
    η = forward_error(node, du.Tokens(2.0, T, D))
    for _ in range(50):
        X = rng.standard_normal((T, D))
        X *= rng.uniform(0.5, 2.0) / np.linalg.norm(X, axis=1).max()
        true = node.apply({}, X.astype(np.longdouble))
        seen = max(seen, float(np.linalg.norm(true - node.apply({}, X), axis=1).max()))
    assert 0 < seen <= η <= 1e3 * seen


def test_softmax_alone_is_within_its_bound():
    rng = np.random.default_rng(0)
    from dudley.networks.normalisers import Softmax

    for ρ in (0.1, 5.0, 50.0, 400.0):
        for _ in range(5):
            s = rng.uniform(-ρ, ρ, (1, 9))
            with ctx.workprec(300):
                true = Softmax().apply(exact(s))
                gap = float(sum(abs(x) for x in (true - exact(Softmax().apply(s))).ravel()).upper())
            assert gap <= rules.softmax_error(ρ, 9)
    assert rules.softmax_error(1e14, 9) == math.inf


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (SwiGLU(D, 4, du.Spectral(1.0), du.Spectral(1.0), du.Spectral(1.0)), "SwiGLU"),
        (Head(D, du.L2(1.0), v=du.L2(1.0), query="fixed", attention="sparsemax"), "sparsemax"),
        (Dense(D, du.L2(1.0), sigma=Activation("mine", abs, 1.0)), "mine"),
        (
            MultiHeadAttention(6, 1, *[du.Spectral(1.0)] * 4, rope=True),
            "rope",
        ),
    ],
)
def test_a_node_without_a_rule_is_refused_by_name(node, message):
    with pytest.raises(InputError, match=message):
        forward_error(node, du.Tokens(1.0, T, 6 if message == "rope" else D))


def test_the_error_grows_through_a_stack_by_its_lipschitz_constants():
    """e = local + L·e: two layers are worse than one, and inputs of larger radius too."""
    layer = Dense(D, du.Spectral(3.0) & du.Frobenius(4.0), sigma="tanh")
    tokens = du.Tokens(1.0, T, D)
    alone, twice = forward_error(layer, tokens), forward_error(layer >> layer, tokens)
    assert twice > 3 * alone
    assert forward_error(layer, du.Tokens(4.0, T, D)) > 2 * alone

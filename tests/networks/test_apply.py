"""``apply``: numpy and torch agree, batches broadcast, and parameters fit."""

import numpy as np
import torch

import dudley as du
from dudley.audit.leaves import leaves, nest_like
from dudley.audit.problem import signal_of
from dudley.networks.multihead import rotate
from each import each
from node_cases import CASES

torch.set_num_threads(1)
each_node = each("name", CASES)


def drawn(problem, seed=0):
    """Random arrays in the nest that ``parameters`` describes, and inputs."""
    rng = np.random.default_rng(seed)
    nest, width = problem.node.parameters(problem.d)
    params = {
        leaf.path: rng.normal(size=leaf.parameter.shape) / 2 for leaf in leaves(problem.node, nest)
    }
    return nest_like(nest, params), rng.normal(size=(2, 3, problem.T, problem.d)), width


def as_torch(nest):
    if isinstance(nest, dict):
        return {name: torch.tensor(value) for name, value in nest.items()}
    return [as_torch(own) for own in nest]


@each_node
def test_numpy_and_torch_agree(name):
    problem = CASES[name]
    params, X, _ = drawn(problem)
    output = problem.node.apply(params, X)
    other = problem.node.apply(as_torch(params), torch.tensor(X))
    assert isinstance(output, np.ndarray) and isinstance(other, torch.Tensor)
    assert other.dtype == torch.float64
    np.testing.assert_allclose(output, other.numpy(), rtol=1e-10, atol=1e-10)


@each_node
def test_single_precision_stays_single(name):
    problem = CASES[name]
    params, X, _ = drawn(problem)

    def single(nest):
        if isinstance(nest, dict):
            return {n: torch.tensor(v, dtype=torch.float32) for n, v in nest.items()}
        return [single(own) for own in nest]

    Y = problem.node.apply(single(params), torch.tensor(X, dtype=torch.float32))
    assert Y.dtype == torch.float32


@each_node
def test_batches_broadcast(name):
    problem = CASES[name]
    params, X, _ = drawn(problem)
    whole = problem.node.apply(params, X)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_allclose(whole[i, j], problem.node.apply(params, X[i, j]), atol=1e-12)


@each_node
def test_shapes_are_those_of_the_facts(name):
    problem = CASES[name]
    params, X, width = drawn(problem)
    out = problem.node.facts(signal_of(1.0, problem.T, problem.d, problem.l1)).out
    assert problem.node.apply(params, X).shape == (2, 3, int(out.rows), out.width)
    assert width == out.width


@each_node
def test_every_use_belongs_to_parameters(name):
    problem = CASES[name]
    nest, _ = problem.node.parameters(problem.d)
    facts = problem.node.facts(signal_of(1.0, problem.T, problem.d, problem.l1))
    tensors = leaves(problem.node, nest)
    for use in facts.uses:
        mine = [leaf for leaf in tensors if leaf.name == use.name]
        assert len(mine) == use.count, use.name
        assert {leaf.parameter for leaf in mine} == {use.parameter}


def test_rotation_keeps_norms_and_depends_on_the_distance_alone():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(6, 4))
    np.testing.assert_allclose(
        np.linalg.norm(rotate(Y), axis=1), np.linalg.norm(Y, axis=1), rtol=1e-12
    )
    q, k = rotate(np.tile(Y[0], (6, 1))), rotate(np.tile(Y[1], (6, 1)))
    scores = q @ k.T
    for shift in range(5):
        assert np.ptp(np.diagonal(scores, shift)) < 1e-12
    assert np.ptp(scores) > 1e-3


def test_grouped_heads_are_heads_with_equal_keys():
    S = du.Spectral(1.0)
    grouped = du.MultiHeadAttention(8, 4, S, S, S, S, groups=2)
    full = du.MultiHeadAttention(8, 4, S, S, S, S)
    rng = np.random.default_rng(0)
    params = {n: rng.normal(size=p.shape) for n, p in grouped.parameters(8)[0].items()}
    wide = dict(params)
    for n in ("W_K", "W_v"):
        parts = params[n].reshape(8, 2, 2)
        wide[n] = np.repeat(parts, 2, axis=1).reshape(8, 8)
    X = rng.normal(size=(5, 8))
    np.testing.assert_allclose(grouped.apply(params, X), full.apply(wide, X), atol=1e-12)


def test_causal_networks_do_not_see_later_tokens():
    for name in ("head causal", "head causal sparsemax", "mha causal", "mha linear biases causal"):
        params, X, _ = drawn(CASES[name])
        moved = X.copy()
        moved[..., -1, :] += 5.0
        before, after = (CASES[name].node.apply(params, x) for x in (X, moved))
        np.testing.assert_allclose(before[..., :-1, :], after[..., :-1, :], atol=1e-12)
        assert np.abs(before[..., -1, :] - after[..., -1, :]).max() > 1e-6

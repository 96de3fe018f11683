"""Complexities from below: against exact suprema, the truth by enumeration, and planted faults."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import dudley as du
from dudley.audit.ascent import supremum_below
from dudley.audit.batched_network import BatchedNetwork
from dudley.audit.broadcast import apply_many
from dudley.audit.complexity import offset_below, rademacher_below
from dudley.audit.leaves import leaves, nest_like
from dudley.calculus.repeat import Repeat
from dudley.core.errors import InputError
from each import each
from node_cases import CASES
from pairing import Pairing

torch.set_num_threads(1)
S = du.Spectral
DUALS = {
    "l11": lambda A: np.abs(A).max(),
    "fro": np.linalg.norm,
    "op": lambda A: np.linalg.norm(A, "nuc"),
    "nuc": lambda A: np.linalg.norm(A, 2),
    "linf": lambda A: np.abs(A).sum(),
    "col21": lambda A: np.linalg.norm(A, axis=0).max(),
    "row21": lambda A: np.linalg.norm(A, axis=1).max(),
    "col2inf": lambda A: np.linalg.norm(A, axis=0).sum(),
    "row2inf": lambda A: np.linalg.norm(A, axis=1).sum(),
    "col1inf": lambda A: np.abs(A).max(0).sum(),
    "row1inf": lambda A: np.abs(A).max(1).sum(),
}
TIED = du.Dense(3, S(1.0).tied("W"))
NETWORKS = {
    "head": du.Head(3, W_v=S(1.0), W_QK=S(4.0), W_c=S(1.2), query="cls") >> du.Readout(du.L2(1.0)),
    "l11": du.Head(3, W_v=du.L11(1.0), W_QK=du.L11(9.0), W_c=du.L11(1.0)) >> du.Readout(du.L1(1.0)),
    "heads": du.Heads(du.Head(3, W_v=S(1.0), W_QK=S(2.0)), 2) >> du.Readout(du.L2(0.5)),
    "stack": Repeat(du.trauger_block(3, S(2.0), S(1.5), S(1.5)), 2) >> du.Readout(du.L2(1.0)),
    "encoder": du.shallow_encoder(3, 2, S(2.0), S(2.0), S(1.0), du.L2(1.0)),
    "positions": du.Positions(3, 4, du.Row2Inf(0.5))
    >> du.Head(3, W_v=S(1.0), W_QK=S(2.0))
    >> du.Readout(du.L2(1.0)),
    "tied": TIED >> TIED >> du.Readout(du.L2(1.0)),
    "rank": du.Dense(3, S(1.0) & du.Rank(1), sigma="relu") >> du.Readout(du.L2(1.0)),
}


def sample(n, T, d, seed=0, R=1.0):
    X = np.random.default_rng(seed).normal(size=(n, T, d))
    return R * X / np.linalg.norm(X, axis=-1, keepdims=True)


def signs(D, n, seed=0):
    return np.random.default_rng(seed).choice([-1.0, 1.0], size=(D, n))


@settings(max_examples=30)
@given(st.sampled_from(sorted(DUALS)), st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 50.0]))
def test_linear_classes_reach_the_dual_norm_and_never_exceed_it(norm, seed, radius):
    X, s = sample(12, 3, 4, seed, R=2.0), signs(3, 12, seed)
    suprema = supremum_below(Pairing(3, du.ball(norm, radius)), X, s, restarts=2, steps=4)
    exact = [radius * DUALS[norm](A) for A in np.einsum("Dn,ntd->Dtd", s, X) / 12]
    assert (suprema <= exact).all() and (suprema >= 0.95 * np.array(exact)).all()


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.05, 3.0), st.floats(0.05, 5.0))
def test_the_penalised_supremum_of_an_l2_ball(seed, β, radius):
    """sup over ‖w‖ ≤ B of s·Xw/n − β‖Xw‖²/n, by the dual root over ridge terms."""
    X, s = sample(10, 1, 3, seed), signs(2, 10, seed)
    Z = X[:, 0]
    λ, V = np.linalg.eigh(Z.T @ Z)
    suprema = supremum_below(du.Readout(du.L2(radius)), X, s, β, restarts=2, steps=30)
    for value, sign in zip(suprema, s, strict=True):
        b = V.T @ (Z.T @ sign)
        low, high = 0.0, 1e6
        for _ in range(200):
            μ = (low + high) / 2
            too_long = np.linalg.norm(b / (2 * β * λ + μ)) > radius
            low, high = (μ, high) if too_long else (low, μ)
        w = V @ (b / (2 * β * λ + high))
        exact = (sign @ Z @ w - β * np.sum((Z @ w) ** 2)) / 10
        assert 0.93 * exact <= value <= exact * (1 + 1e-9) + 1e-15


def test_the_unconstrained_linear_class_is_rank_over_four_beta_n():
    n, r, β = 40, 5, 0.5
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(n, r)))[0][:, None, :]
    net, s = du.Readout(du.L2(50.0)), signs(400, n)
    suprema = supremum_below(net, X, s, β, restarts=1, steps=2)
    P = X[:, 0] @ X[:, 0].T
    exact = ((s @ P) ** 2).sum(1) / (4 * β * n)
    np.testing.assert_allclose(suprema, exact, rtol=1e-6)
    assert exact.mean() == pytest.approx(r / (4 * β * n), rel=0.1)
    small = du.Readout(du.L2(math.sqrt(n) / (2 * β)))  # holds every Pˢ/(2β)
    assert offset_below(small, X, β, draws=400, restarts=1, steps=2).value <= r / (4 * β * n)


@each("name", NETWORKS)
@each("β", [0.0, 0.7])
def test_networks_never_above_their_upper_bound(name, β):
    """On three examples all eight sign vectors give the exact expectation of the found values."""
    net, X = NETWORKS[name], sample(3, 4, 3, seed=1)
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    suprema = supremum_below(net, X, every, β, restarts=3, steps=12)
    A = BatchedNetwork.of(net, X).radius
    assert np.isfinite(suprema).all() and (suprema <= A).all()
    assert suprema.mean() > 0.02 * A
    if β:
        assert (suprema <= 1 / (4 * β)).all()  # sf − βf² ≤ 1/(4β)
        assert (suprema <= supremum_below(net, X, every, restarts=6, steps=24) + 1e-9).all()
    elif name != "rank":
        upper = du.capacity(net, du.Tokens(1.0, T=4, d=3), n=3).rademacher()
        assert suprema.mean() <= upper


@pytest.mark.parametrize("name", NETWORKS)
def test_values_are_those_of_members(name, monkeypatch):
    """The reported number is the objective at weights strictly inside, by numpy."""
    net, X, s = NETWORKS[name], sample(5, 4, 3), signs(2, 5)
    seen = {}
    inside = BatchedNetwork.inside
    monkeypatch.setattr(BatchedNetwork, "inside", lambda f, W: seen.setdefault("W", inside(f, W)))
    suprema = supremum_below(net, X, s, 0.3, restarts=2, steps=6)
    batched = BatchedNetwork.of(net, X)
    for i in range(2):
        weights = {path: w[i].numpy() for path, w in seen["W"].items()}
        for leaf in batched.free:
            bounds = {b.norm: b.radius for b in leaf.parameter.constraint.balls}
            for norm, radius in bounds.items():
                assert du.core.norms.NORMS[norm](weights[leaf.path]) < radius
        f = net.apply(batched.nest(weights), X)[:, 0, 0]
        assert np.mean(s[i] * f - 0.3 * f**2) == pytest.approx(suprema[i], rel=1e-8, abs=1e-11)
        assert np.mean(s[i] * f - 0.3 * f**2) >= suprema[i]


def test_a_batch_and_the_loop_find_the_same():
    net, X, s = NETWORKS["head"], sample(20, 4, 3), signs(3, 20)
    whole = supremum_below(net, X, s, restarts=3, steps=10)
    for at_once in (1, 4):
        apart = supremum_below(net, X, s, restarts=3, steps=10, at_once=at_once)
        np.testing.assert_allclose(apart, whole, rtol=1e-5)


def test_more_work_never_hurts_and_ascent_beats_its_starts():
    net, X, s = NETWORKS["head"], sample(30, 4, 3), signs(4, 30)
    few, more = (supremum_below(net, X, s, restarts=4, steps=t) for t in (1, 30))
    assert (more >= few - 1e-12).all() and more.mean() > 1.2 * few.mean()


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 8))
def test_certified_bounds_stay_below_the_truth(seed, n):
    """ℓ2 class, n ≤ 8: the truth by enumeration of all signs. δ = 1e-9, so a failure is a bug."""
    X, net = sample(n, 1, 3, seed), du.Readout(du.L2(1.5))
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    truth = 1.5 * np.linalg.norm(every @ X[:, 0], axis=1).mean() / n
    bound = rademacher_below(net, X, draws=300, restarts=1, steps=1, seed=seed)
    assert 0 <= bound.value <= truth


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(0.1, 4.0), st.floats(0.01, 2.0))
def test_certified_offsets_stay_below_that_of_all_linear_functions(seed, n, β, radius):
    X, net = sample(n, 1, 3, seed), du.Readout(du.L2(radius))
    bound = offset_below(net, X, β, draws=300, restarts=1, steps=3, seed=seed)
    rank = np.linalg.matrix_rank(X[:, 0])
    assert 0 <= bound.value <= min(rank / (4 * β * n), radius)


def test_the_deviation_is_paid_and_zero_costs_nothing():
    X, net = sample(50, 1, 3), du.Readout(du.L2(1.0))
    mean = supremum_below(net, X, np.random.default_rng([0]).choice([-1.0, 1.0], (64, 50))).mean()
    bound = rademacher_below(net, X, draws=64)
    drift = math.sqrt(2 * math.log(1e9) / (50 * 64))
    assert bound.value == pytest.approx(mean - drift, abs=1e-6) and bound.δ == 1e-9
    nothing = rademacher_below(net, X, draws=1)
    assert (nothing.value, nothing.δ) == (0.0, 0.0)
    biased = du.Dense(3, S(1.0), sigma="softplus") >> du.Readout(du.L2(1.0))
    assert offset_below(biased, X, β=9.0, draws=1).value >= -9.0 * 3 * math.log(2) ** 2


def test_a_forgotten_radius_is_found():
    """A claimed complexity that forgets B_x = 4 lies below what the ascent certifies."""
    X, net = sample(64, 1, 3, R=4.0), du.Readout(du.L2(1.0))
    claimed = 1.0 / math.sqrt(64)
    assert rademacher_below(net, X, draws=400, restarts=1, steps=1).value > claimed


@each("name", [n for n, p in CASES.items() if leaves(p.node, p.node.parameters(p.d)[0])])
def test_many_weights_on_the_same_examples(name):
    """``apply`` with a batch of weights is ``apply`` for each of them."""
    problem, rng = CASES[name], np.random.default_rng(0)
    nest, _ = problem.node.parameters(problem.d)
    every = leaves(problem.node, nest)
    W = {leaf.path: torch.tensor(rng.normal(size=(2, *leaf.parameter.shape)) / 2) for leaf in every}
    X = torch.tensor(rng.normal(size=(3, problem.T, problem.d)))
    many = apply_many(problem.node, nest_like(nest, W), X)
    for b in range(2):
        output = problem.node.apply(nest_like(nest, {path: w[b] for path, w in W.items()}), X)
        torch.testing.assert_close(many[b], output, rtol=1e-10, atol=1e-10)


def test_bad_input_is_refused():
    X, net = sample(4, 1, 3), du.Readout(du.L2(1.0))
    with pytest.raises(InputError, match="signs"):
        supremum_below(net, X, np.zeros((2, 4)))
    with pytest.raises(InputError, match="X"):
        supremum_below(net, X[0], np.ones((1, 4)))
    with pytest.raises(InputError, match="one output"):
        rademacher_below(du.Dense(3, S(1.0)), X)
    with pytest.raises(InputError, match="δ"):
        rademacher_below(net, X, δ=0.0)
    with pytest.raises(InputError, match="trained weights"):
        rademacher_below(du.Pool("mean"), X[..., :1])
    centred = du.Readout(du.ball("fro", 1.0, center=np.ones(3)))
    with pytest.raises(InputError, match="balls around 0"):
        supremum_below(centred, X, np.ones((1, 4)))

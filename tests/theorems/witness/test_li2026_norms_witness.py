"""The witnesses against li2026's norm-based bounds: built, run, and compared with their claims."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dudley.core.constraint import L11, Spectral
from dudley.core.norms import norm_named
from dudley.networks.activations import Activation
from dudley.networks.blocks import li_block
from dudley.networks.head import Head
from dudley.theorems.registry import load
from dudley.theorems.witness.base import WITNESSES
from dudley.theorems.witness.counterexamples.label_noise import LabelNoise
from dudley.theorems.witness.counterexamples.one_hot import OneHot, OneHotLowRank
from dudley.theorems.witness.counterexamples.turned_head import SecondSigma, TurnedHead
from dudley.theorems.witness.counterexamples.unseen_heads import (
    ManyQueries,
    QueryHeads,
    UnseenHeads,
)

STATEMENTS = load()
MINE = (OneHot, ManyQueries, UnseenHeads, TurnedHead, SecondSigma)
ONE = L11(1.0)


def block_of(d: int, sigma: str | Activation = "identity"):
    block = li_block(d, ONE, ONE, ONE, sigma=sigma)
    return lambda W, X: block.apply([W, {}, {}, {}], X)


def head_of(d: int):
    return Head(
        d, Spectral(1.0), Spectral(1.0), W_c=Spectral(1.0), sigma="identity", query="cls"
    ).apply


def test_every_witness_is_registered_with_a_story():
    known = {witness for _, witness in WITNESSES.items()}
    for witness in MINE:
        assert witness in known and witness.story.endswith(".")


# -- one-hot tokens --------------------------------------------------------------------------


def minimiser(seen: set[int], d: int) -> np.ndarray:
    """u = 1/√|U| on the unseen coordinates."""
    u = np.array([0.0 if i in seen else 1.0 for i in range(d)])
    return u / math.sqrt(u.sum())


def weights_of(witness, u):
    d = len(u)
    if witness is OneHot:
        return {"W_QK": np.zeros((d, d)), "W_v": np.eye(d), "W_c": np.eye(d)}, u
    e = np.eye(d)[0]
    return {"W_QK": np.zeros((d, d)), "W_v": np.outer(u, e), "W_c": np.outer(e, e)}, e


@pytest.mark.parametrize("witness", [OneHot, OneHotLowRank])
def test_the_one_hot_minimiser_by_simulation(witness):
    instance, rng, risks = witness(n=50), np.random.default_rng(0), []
    d = instance.d
    inputs = np.eye(d)[:, None, :]  # every input: one token each
    for _ in range(20):
        sample = rng.integers(0, d, size=instance.n)
        W, w = weights_of(witness, minimiser(set(sample.tolist()), d))
        for network in (head_of(d), block_of(d)):
            predictions = network(W, inputs)[:, -1] @ w
            assert np.abs(predictions[sample]).sum() == 0.0  # training loss: it is a minimiser
            risks.append(np.abs(predictions).mean())  # risk; the best risk is 0
    assert min(risks) >= instance.lower_bound()
    unseen = np.sqrt(d * (1 - 1 / d) ** instance.n) / d  # √E|U|/d, above E√|U|/d and close to it
    assert np.mean(risks) == pytest.approx(unseen, rel=0.03)


def test_one_hot_weights_have_the_norms_they_declare():
    for witness in (OneHot, OneHotLowRank):
        instance = witness(n=8)
        u = minimiser(set(range(8)), instance.d)
        W, w = weights_of(witness, u)
        declared = instance.weights()
        assert np.linalg.norm(w) <= declared["w.l2"] + 1e-12
        for name, matrix in W.items():
            for norm in ("l11", "op"):
                if f"{name}.{norm}" in declared:
                    assert norm_named(norm)(matrix) <= declared[f"{name}.{norm}"] + 1e-12
        if witness is OneHotLowRank:
            assert all(np.linalg.matrix_rank(matrix) <= 1 for matrix in W.values())


def test_the_one_hot_ratio_grows_like_the_square_root():
    """printed is log n/n, the truth 1/√n: the refutation holds from some n on, and ever more."""
    s = STATEMENTS["li2026/theorem-5.3"]
    ratios = []
    for n in (10**7, 10**8, 10**9):
        instance = OneHot(n)
        printed = s.evaluate_on(instance.inputs(s.id), "printed").value
        ratios.append(instance.lower_bound() / printed)
    assert ratios[0] > 2 and ratios[2] > 6 * ratios[0]


# -- 2^m heads -------------------------------------------------------------------------------


def test_query_heads_are_as_far_apart_as_claimed():
    heads = QueryHeads(4)
    X, signs = heads.tokens(), np.array(list(itertools.product((-1, 1), repeat=4)))
    for network in (head_of(heads.d), block_of(heads.d)):
        values = []
        for pattern in signs:
            W = heads.weights(pattern)
            values.append(network(W, X)[:, -1] @ W["w"])
        np.testing.assert_allclose(values, heads.a * signs, rtol=1e-9)
    assert heads.a > 0.7 and len(signs) == round(math.exp(heads.log_count))


def test_query_heads_have_the_norms_they_declare():
    heads = QueryHeads(5)
    X, W = heads.tokens(), heads.weights([1, -1, 1, 1, -1])
    assert norm_named("l11")(W["W_QK"]) == pytest.approx(heads.B_QK)
    for name in ("W_v", "W_c"):
        assert norm_named("l11")(W[name]) == pytest.approx(1.0)
    for name in ("W_QK", "W_v", "W_c"):
        assert np.linalg.matrix_rank(W[name]) == 1
    assert np.linalg.norm(X, axis=-1).max() == pytest.approx(1.0)
    for x in X:
        assert np.linalg.norm(x, 2) == pytest.approx(math.sqrt(2))
        assert np.linalg.norm(x) == pytest.approx(math.sqrt(3))


def test_the_excess_risk_of_unseen_heads_by_enumeration():
    """All samples of size 3 from 3 inputs: the worst minimiser among all 8 heads."""
    m = n = 3
    heads = QueryHeads(m)
    X, total = heads.tokens(), 0.0
    predictions = []
    for pattern in itertools.product((-1, 1), repeat=m):
        W = heads.weights(pattern)
        predictions.append(head_of(heads.d)(W, X)[:, -1] @ W["w"])
    losses = np.abs(np.array(predictions) - heads.a)
    losses[losses < 1e-12] = 0.0
    for sample in itertools.product(range(m), repeat=n):
        training = losses[:, list(sample)].sum(axis=1)
        minimisers = training <= training.min() + 1e-12
        total += losses[minimisers].mean(axis=1).max()
    assert UnseenHeads(n).lower_bound() == pytest.approx(total / m**n)


# -- decompositions --------------------------------------------------------------------------


def test_the_turned_head_moves_by_tanh_one():
    R = 8.0
    X = np.array([[-R], [R]])
    for network in (head_of(1), block_of(1)):
        outputs = []
        for W_QK in (0.0, 1 / R**2):
            W = {"W_QK": np.array([[W_QK]]), "W_v": np.array([[1 / R]]), "W_c": np.eye(1)}
            outputs.append(network(W, X)[-1, 0])
        assert outputs[1] - outputs[0] == pytest.approx(TurnedHead(R).lower_bound())


def test_the_display_before_15_is_refuted_too():
    R = TurnedHead().R
    assert 2 * (1 / R) * (1 / R) * math.sqrt(2) * R < TurnedHead().lower_bound()


def test_the_second_sigma_is_applied():
    block = block_of(1, Activation("linear", lambda x: 3 * x, 3.0))
    outputs = []
    for W_v in (0.01, 0.02):
        W = {"W_QK": np.zeros((1, 1)), "W_v": np.array([[W_v]]), "W_c": np.array([[0.5]])}
        outputs.append(block(W, np.ones((1, 1)))[-1, 0])
    assert outputs[1] - outputs[0] == pytest.approx(SecondSigma().lower_bound())


@pytest.mark.parametrize("witness", MINE)
def test_printed_is_below_the_truth_and_derived_is_not(witness):
    instance = witness()
    for id in witness.refutes:
        s, inputs = STATEMENTS[id], instance.inputs(id)
        assert s.evaluate_on(inputs, "printed").value < instance.lower_bound()
        for form in set(s.forms) - {"printed"}:
            assert s.evaluate_on(inputs, form).value >= instance.lower_bound() * (1 - 1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 30, 1000, 10**6, 10**9])
def test_derived_survives_the_witnesses_at_every_size(n):
    """Also where printed is not refuted yet, and for heads on the one-hot tokens."""
    for instance in (OneHot(n), UnseenHeads(n)):
        for number in ("5.3", "B.1", "B.2"):
            inputs = instance.inputs(f"li2026/theorem-{number}")
            if isinstance(instance, OneHot) and number != "5.3":
                inputs = {k: v for k, v in inputs.items() if k != "L"} | {"X.op": 1.0}
                inputs |= {"H": 1} if number == "B.2" else {}
            for form in ("derived", "best"):
                bound = STATEMENTS[f"li2026/theorem-{number}"].evaluate_on(inputs, form)
                assert bound.value >= instance.lower_bound() * (1 - 1e-12)


@pytest.mark.parametrize("n", [1, 11, 101, 100_001])
def test_derived_survives_label_noise(n):
    """A loaded coin, constants in [−1, 1]: nothing is known of the noise, so the rate is slow."""
    coin = LabelNoise(n)
    inputs = {"n": n, "kappa": 1.0, "target.bound": 1.0, "d": 1, "k": 1, "W_QK.l11": 0.0}
    inputs |= {"W_v.l11": 1.0, "W_c.l11": 1.0, "w.l2": 1.0, "sigma.lipschitz": 1.0}
    inputs |= {"X.row2inf": 1.0}
    more = {"5.3": {"L": 1}, "B.1": {"X.op": 1.0}, "B.2": {"X.op": 1.0, "H": 1}}
    for number, norms in more.items():
        s = STATEMENTS[f"li2026/theorem-{number}"]
        for form in ("derived", "best"):
            assert s.evaluate_on(inputs | norms, form).value >= coin.lower_bound()

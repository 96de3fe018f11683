"""The witnesses against trauger2024: built, run, and compared with what they claim."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dudley.core.bound import Sense
from dudley.core.constraint import Spectral
from dudley.core.norms import NORMS, norm_named
from dudley.networks.activations import Activation
from dudley.networks.blocks import trauger_block
from dudley.networks.head import Head
from dudley.theorems.registry import load
from dudley.theorems.trauger2024.block import block_with_two_activations
from dudley.theorems.witness.base import WITNESSES
from dudley.theorems.witness.counterexamples.many_heads import ManyHeads, SignHeads
from dudley.theorems.witness.counterexamples.maurey_slip import MaureySlip
from dudley.theorems.witness.counterexamples.own_block import LongTokens, SigmaTwice
from dudley.theorems.witness.counterexamples.quasi_norm import QuasiNorm
from dudley.theorems.witness.counterexamples.transposed_norms import TransposedNorms
from dudley.theorems.witness.counterexamples.two_members import TwoMembers
from dudley.theorems.witness.counterexamples.wrong_side import WrongSide
from each import each

STATEMENTS = load()
MINE = (
    ManyHeads,
    MaureySlip,
    LongTokens,
    SigmaTwice,
    QuasiNorm,
    TransposedNorms,
    TwoMembers,
    WrongSide,
)
CASES = [(w, id) for w in MINE for id in w.refutes if id.startswith("trauger2024/")]


@each("witness, id", CASES)
def test_printed_is_below_the_truth_and_derived_is_not(witness, id):
    instance, statement = witness(), STATEMENTS[id]
    inputs, truth = instance.inputs(id), instance.lower_bound()
    assert statement.evaluate_on(inputs, "printed").value < truth
    for form in ("derived", "best"):
        if getattr(statement, form) is not None:
            assert truth <= statement.evaluate_on(inputs, form).value * (1 + 1e-12)


def test_every_witness_is_registered_with_a_story():
    known = {witness for _, witness in WITNESSES.items()}
    for witness in MINE:
        assert witness in known and witness.story.endswith(".")


@pytest.mark.parametrize("witness, sized", [(WrongSide, "k"), (TransposedNorms, "d")])
def test_a_family_holds_the_statements_own_printed_values(witness, sized):
    family = witness().family()
    assert family.exponent > 0.3
    for size, truth, printed in zip(
        family.sizes[:3], family.lower_bounds, family.printed, strict=False
    ):
        instance = witness(**{sized: size})
        assert instance.lower_bound() == pytest.approx(truth)
        ids = [id for id in witness.refutes if STATEMENTS[id].printed.sense is Sense.CONSTANT]
        assert ids
        for id in ids:
            value = STATEMENTS[id].evaluate_on(instance.inputs(id), "printed").value
            assert value == pytest.approx(printed, rel=1e-6)


def linear(L_σ: float) -> Activation:
    return Activation("linear", lambda x: L_σ * x, L_σ)


def test_sign_heads_are_as_far_apart_as_claimed():
    """All 2^4 heads on 4 inputs: the head itself, and the block with σ once and twice."""
    heads = SignHeads(2)
    ball, X = Spectral(1.0), heads.tokens()
    head = Head(heads.d, ball, ball, W_c=ball, sigma="identity", query="cls")
    blocks = [
        build(heads.d, ball, ball, ball, sigma="identity")
        for build in (trauger_block, block_with_two_activations)
    ]
    signs = np.array(list(itertools.product((-1, 1), repeat=4)))
    outputs = []
    for pattern in signs:
        W = heads.weights(pattern)
        params = [{"W_QK": W["W_QK"], "W_v": W["W_v"]}, {}, {}, {"W_c": W["W_c"]}, {}]
        rows = [head.apply(W, X), *(block.apply(params, X) for block in blocks)]
        outputs.append([row[:, -1] @ W["w"] for row in rows])
    values = np.array(outputs)  # (2^4, 3 networks, 4 inputs)
    np.testing.assert_allclose(values, heads.τ * np.repeat(signs[:, None], 3, axis=1), rtol=1e-9)
    apart = np.abs(values[:, None] - values[None]).max(axis=-1)
    assert apart[~np.eye(16, dtype=bool)].min() > 2 * 0.9
    assert heads.τ > 0.9999 and len(signs) == round(math.exp(heads.log_count))


@pytest.mark.parametrize("p", [2, 3, 5])
def test_no_norm_of_the_sign_heads_is_above_one(p):
    heads, rng = SignHeads(p), np.random.default_rng(p)
    W = heads.weights(rng.choice([-1.0, 1.0], size=(p, p)))
    for name, matrix in itertools.product(NORMS, W.values()):
        for oriented in (matrix, np.atleast_2d(matrix).T):
            assert norm_named(name)(oriented) <= 1 + 1e-12, name
    inputs = {"l11": 1.0, "fro": 1 / p, "row1inf": 1 / p, "col1inf": 1 / p, "row2inf": p**-1.5}
    for name, size in inputs.items():
        assert norm_named(name)(W["W_QK"]) == pytest.approx(size)
    X = heads.tokens()
    for order in (1, 2):
        assert np.linalg.norm(X, ord=order, axis=-1).max() <= heads.s * (1 + 1e-12)


def test_many_heads_meet_the_hypotheses_they_declare():
    p = 3
    witness = ManyHeads(p)
    heads = witness.heads
    W = heads.weights(np.ones((p, p)))  # the spectral norm is largest when all signs agree
    assert p**2 >= heads.d  # the lemmas ask for as many points as dimensions
    for id in ManyHeads.refutes:
        inputs = witness.inputs(id)
        assert inputs["epsilon"] < heads.τ
        assert inputs.get("X.row2inf", inputs.get("X.row1inf")) == heads.s
        for name in ("W_QK.op", "W_v.op", "W_c.op", "w.l2"):
            matrix, norm = name.split(".")
            assert norm_named(norm)(W[matrix]) <= inputs[name] * (1 + 1e-12)
        for name in inputs:
            if name.startswith("W."):
                largest = max(norm_named(name[2:])(matrix) for matrix in W.values())
                assert largest <= inputs[name] * (1 + 1e-12)


@pytest.mark.parametrize("id", ManyHeads.refutes)
def test_the_family_of_sign_heads_is_the_printed_formula(id):
    family = ManyHeads().family(id)
    for p, truth, value in zip(family.sizes, family.lower_bounds, family.printed, strict=True):
        instance = ManyHeads(int(p))
        assert instance.lower_bound() == truth
        printed = STATEMENTS[id].evaluate_on(instance.inputs(id), "printed").value
        assert printed == pytest.approx(value, rel=1e-9)
    least, most = (0.8, 1.0) if id.endswith("F.0.1") else (1.8, 2.0)
    assert least < family.exponent < most


def test_transposed_norms_has_the_complexity_it_claims():
    """All 2^n sign patterns for d = 3, and the supremum over all value matrices of signs."""
    d = 3
    n = 2 * d
    averages = np.repeat(np.eye(d), 2, axis=0) / 2  # tokens e_j and 0, uniform attention
    signs = np.array(list(itertools.product((-1, 1), repeat=n)))
    values = np.array(list(itertools.product((-1, 1), repeat=d)))
    exact = (signs @ averages @ values.T).max(axis=1).mean() / n
    assert exact == pytest.approx(TransposedNorms(d).lower_bound())
    W_v = values[0][:, None]
    assert norm_named("row1inf")(W_v) == 1 and norm_named("col1inf")(W_v) == d
    for id in TransposedNorms.refutes:  # a ball that holds W_QK = 0, where the formula is defined
        inputs = TransposedNorms(d).inputs(id)
        (size,) = (v for name, v in inputs.items() if name.startswith(("W_QK", "class.C")))
        assert 0 < size < 1e-9


def test_two_members_really_differ_by_two():
    b, d = TwoMembers().b, 4
    ball = Spectral(1.0)
    block = trauger_block(d, ball, ball, ball, sigma="identity")
    x = np.eye(d)[:1]
    outputs = []
    for sign in (1, -1):
        W_v = np.zeros((d, d))
        W_v[0, 0] = sign * b
        params = [{"W_QK": np.zeros((d, d)), "W_v": W_v}, {}, {}, {"W_c": np.eye(d) / b}, {}]
        outputs.append(block.apply(params, x)[0, 0])
    assert abs(outputs[0] - outputs[1]) > 2 * TwoMembers().inputs("")["epsilon"]


def changed(block, x, first: dict, second: dict) -> float:
    """The largest change of an output row between two sets of 1×1 weights."""
    outputs = [
        block.apply([{"W_QK": W["W_QK"], "W_v": W["W_v"]}, {}, {}, {"W_c": W["W_c"]}, {}], x)
        for W in (first, second)
    ]
    return float(np.abs(outputs[0] - outputs[1]).max())


def numbers(**weights: float) -> dict[str, np.ndarray]:
    return {name: np.full((1, 1), w) for name, w in weights.items()}


def test_sigma_twice_runs_as_told():
    block = block_with_two_activations(1, *(Spectral(1.0),) * 3, sigma=linear(3.0))
    weights = [numbers(W_QK=0.0, W_v=v, W_c=0.5) for v in (0.01, 0.02)]
    moved = changed(block, np.ones((1, 1)), *weights)
    assert moved == pytest.approx(SigmaTwice().lower_bound())


def test_long_tokens_run_as_told():
    R = LongTokens().R
    x, ball = np.array([[R], [-R]]), Spectral(1.0)
    for build in (trauger_block, block_with_two_activations):
        block = build(1, ball, ball, ball, sigma="identity")
        weights = [numbers(W_QK=q, W_v=1 / R, W_c=1.0) for q in (0.0, 1 / R**2)]
        assert changed(block, x, *weights) == pytest.approx(LongTokens().lower_bound())


def test_the_wrong_side_ball_needs_its_volume():
    """k = 2 by a packing: points of the unit disc more than 1 apart at ε = 1/2 are at least 2²."""
    angles = np.arange(5) * 2 * np.pi / 5
    points = np.concatenate([np.stack([np.cos(angles), np.sin(angles)], axis=1), np.zeros((1, 2))])
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    assert apart[apart > 0].min() >= 1 - 1e-12
    assert math.log(5) >= WrongSide(2).lower_bound()


def test_the_quasi_norm_equality_fails_as_a_covering_number():
    """At resolution 1.5 the zero map covers {0, identity} on the basis but not at the midpoint."""
    norm = lambda x: float((np.abs(x) ** 0.5).sum() ** 2)  # noqa: E731
    assert max(norm(e) for e in np.eye(2)) < 1.5 < norm(np.full(2, 0.5))
    assert QuasiNorm().lower_bound() == pytest.approx(2.0)


def test_maurey_slips_for_every_mass_below_one():
    for γ, K in itertools.product((0.1, 0.3, 0.45, 0.77), (1, 2, 3)):
        witness = MaureySlip(γ, K)
        inputs, truth = witness.inputs("trauger2024/lemma-3.1"), witness.lower_bound()
        statement = STATEMENTS["trauger2024/lemma-3.1"]
        assert statement.evaluate_on(inputs, "printed").value < truth
        assert truth <= statement.evaluate_on(inputs).value * (1 + 1e-12)

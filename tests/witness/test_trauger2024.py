"""The witnesses against trauger2024: built, run, and compared with what they claim."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dudley.core.bound import Sense
from dudley.core.constraint import Spectral
from dudley.core.norms import norm_named
from dudley.networks.activations import Activation
from dudley.networks.blocks import trauger_block
from dudley.theorems.registry import load
from dudley.theorems.trauger2024.block import block_with_two_activations
from dudley.witness import load as load_witnesses
from dudley.witness.many_heads import ManyHeads, SignHeads
from dudley.witness.maurey_slip import MaureySlip
from dudley.witness.own_block import LongTokens, SigmaTwice
from dudley.witness.quasi_norm import QuasiNorm
from dudley.witness.transposed_norms import TransposedNorms
from dudley.witness.two_members import TwoMembers
from dudley.witness.wrong_side import WrongSide

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


@pytest.mark.parametrize("witness, id", CASES)
def test_printed_is_below_the_truth_and_derived_is_not(witness, id):
    instance, statement = witness(), STATEMENTS[id]
    inputs, truth = instance.inputs(id), instance.lower_bound()
    assert statement.evaluate_on(inputs, "printed").value < truth
    for form in ("derived", "best"):
        if getattr(statement, form) is not None:
            assert truth <= statement.evaluate_on(inputs, form).value * (1 + 1e-12)


def test_every_witness_is_registered_with_a_story():
    known = set(load_witnesses().values())
    for witness in MINE:
        assert witness in known and witness.story.endswith(".")


@pytest.mark.parametrize(
    "witness, sized", [(WrongSide, "k"), (TransposedNorms, "d"), (ManyHeads, "m")]
)
def test_a_family_holds_the_statements_own_printed_values(witness, sized):
    family = witness().family()
    assert family.exponent > 0.3
    for size, truth, printed in zip(
        family.sizes[:3], family.lower_bounds, family.printed, strict=False
    ):
        instance = witness(**{sized: size})
        assert instance.lower_bound() == pytest.approx(truth)
        ids = [id for id in witness.refutes if STATEMENTS[id].printed.sense is Sense.CONSTANT]
        for id in ids or ["trauger2024/corollary-4.2.1"]:
            value = STATEMENTS[id].evaluate_on(instance.inputs(id), "printed").value
            assert value == pytest.approx(printed, rel=1e-6)


def linear(L_σ: float) -> Activation:
    return Activation("linear", lambda x: L_σ * x, L_σ)


@pytest.mark.parametrize(
    "heads",
    [
        SignHeads(5, B_x=1.0),
        SignHeads(5, B_x=10.0),
        SignHeads(5, R=3.0, B_x=7000.0, L_σ=7.0, flat=True),
    ],
)
def test_sign_heads_are_as_far_apart_as_claimed(heads):
    signs = list(itertools.product((-1, 1), repeat=heads.m))
    for build in (trauger_block, block_with_two_activations):
        block = build(heads.d, *(Spectral(1.0),) * 3, sigma=linear(heads.L_σ))
        outputs = []
        for pattern in signs:
            W = heads.weights(pattern)
            params = [{"W_QK": W["W_QK"], "W_v": W["W_v"]}, {}, {}, {"W_c": W["W_c"]}, {}]
            outputs.append(block.apply(params, heads.tokens())[:, -1] @ W["w"])
        values = np.array(outputs)  # (2^m, m)
        apart = np.abs(values[:, None] - values[None]).max(axis=-1)
        np.fill_diagonal(apart, np.inf)
        assert apart.min() >= 2 * heads.τ * (1 - 1e-9)
        if build is trauger_block:
            assert np.allclose(values, heads.τ * np.array(signs))
    assert len(signs) == round(math.exp(heads.log_count))


@pytest.mark.parametrize("flat", [False, True])
def test_the_norms_of_sign_heads_are_those_of_their_weights(flat):
    heads = SignHeads(6, R=4.0, B_x=20.0, L_σ=3.0, flat=flat)
    W = heads.weights([1, -1, 1, 1, -1, -1])
    for name, value in heads.norms().items():
        matrix, norm = name.split(".")
        assert norm_named(norm)(W[matrix]) == pytest.approx(value), name
    X = heads.tokens()
    assert np.linalg.norm(X, axis=-1).max() <= heads.B_x
    assert np.abs(X).sum(axis=-1).max() <= heads.B_x


def test_many_heads_meet_the_hypotheses_they_declare():
    for id in ManyHeads.refutes:
        witness = ManyHeads(50)
        heads, inputs = witness.heads(id), witness.inputs(id)
        norms = heads.norms()
        assert inputs["epsilon"] < heads.τ
        for name in ("W_QK.op", "W_v.op", "W_c.op", "w.l2"):
            assert inputs[name] >= norms[name]
        bounds = {
            "W.l11": ("l11", "l1"),
            "W.row1inf": ("row1inf", "linf"),
            "W.row21": ("row21", "l1"),
        }
        for name, pair in bounds.items():
            if name in inputs:
                assert inputs[name] >= heads.largest(*pair)


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


def test_two_members_really_differ_by_two():
    b, d = TwoMembers().b, 4
    block = trauger_block(d, *(Spectral(1.0),) * 3, sigma="identity")
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
    x = np.array([[R], [-R]])
    for build in (trauger_block, block_with_two_activations):
        block = build(1, *(Spectral(1.0),) * 3, sigma="identity")
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

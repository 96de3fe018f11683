"""The counterexamples to edelman2021, built and run where they are small enough."""

import itertools
import math

import numpy as np
import pytest

from dudley.core.constraint import Col2Inf, Frobenius, Spectral
from dudley.core.norms import norm_named
from dudley.networks.blocks import trauger_block
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.registry import load
from dudley.theorems.witness.counterexamples.fair_coin import FairCoin
from dudley.theorems.witness.counterexamples.large_readout import LargeReadout
from dudley.theorems.witness.counterexamples.negative_log import NegativeLog, NegativeLogGap
from dudley.theorems.witness.counterexamples.shattered_scores import (
    RESOLUTION,
    SHARPNESS,
    ShatteredScores,
    tokens,
    value_reached,
    weights,
)

STATEMENTS = load()
PATTERNS = [np.reshape(signs, (2, 2)) for signs in itertools.product([-1.0, 1.0], repeat=4)]


def values(statement, inputs):
    return {
        form: STATEMENTS[statement].evaluate_on(inputs, form).value
        for form in ("printed", "derived", "best")
        if getattr(STATEMENTS[statement], form) is not None
    }


@pytest.mark.parametrize(
    "witness", [FairCoin(), LargeReadout(), NegativeLog(), NegativeLogGap(), ShatteredScores()]
)
def test_printed_is_below_the_truth_and_derived_is_not(witness):
    for statement in witness.refutes:
        by_form = values(statement, witness.inputs(statement))
        truth = witness.lower_bound()
        assert by_form.pop("printed") < truth
        assert all(value >= truth * (1 - 1e-12) for value in by_form.values()), by_form


# -- families: the ratio diverges, so that no constant helps ---------------------------------------


@pytest.mark.parametrize("p", [1000, 30_000])
@pytest.mark.parametrize("statement", ShatteredScores.refutes)
def test_the_family_of_heads_is_the_printed_formula(statement, p):
    witness = ShatteredScores(p)
    family = witness.family(statement)
    i = family.sizes.index(p)
    printed = values(statement, witness.inputs(statement))["printed"]
    assert family.printed[i] == pytest.approx(printed, rel=1e-9)
    assert family.lower_bounds[i] == witness.lower_bound()
    assert 0.5 < family.exponent < 1.2


def test_the_family_of_readouts_is_the_printed_formula():
    family = LargeReadout().family()
    for p, printed in zip(family.sizes, family.printed, strict=True):
        inputs = LargeReadout(int(p)).inputs("edelman2021/theorem-A.17")
        assert values("edelman2021/theorem-A.17", inputs)["printed"] == pytest.approx(printed)
    assert 1.5 < family.exponent < 2.1


def test_the_families_of_sign_patterns_are_the_printed_formulas():
    for kind, statement in ((NegativeLog, "corollary-A.3"), (NegativeLogGap, "lemma-2.2")):
        family, id = kind().family(), f"edelman2021/{statement}"
        for s, printed in zip(family.sizes, family.printed, strict=True):
            inputs = kind(s=int(s)).inputs(id)
            assert values(id, inputs)["printed"] == pytest.approx(printed)
        assert family.exponent == pytest.approx(1, abs=0.1)


def test_past_the_edge_the_printed_bounds_are_negative_and_say_so():
    for s, kind in ((-2, NegativeLog), (-2, NegativeLogGap)):
        id = kind.refutes[0]
        bound = STATEMENTS[id].evaluate_on(kind(s=s).inputs(id), "printed")
        assert bound.value < 0 and bound.vacuous and "negative" in str(bound)


# -- the instances themselves ----------------------------------------------------------------------


def test_all_functions_into_signs_have_complexity_one():
    signs = np.array(list(itertools.product([-1, 1], repeat=5)))
    assert (signs @ signs.T).max(axis=0).mean() / 5 == 1.0
    assert np.abs(signs[:, None] - signs[None]).max(-1)[~np.eye(32, dtype=bool)].min() == 2


def test_the_constants_of_the_sign_patterns_serve_members_as_centres():
    """log N(ε) = n log 2 up to ε = 2, so C must be at least 4n log 2."""
    witnesses = [NegativeLog(7, s) for s in (3, 4, 100, math.inf)]
    witnesses += [NegativeLogGap(s) for s in (3, 4, 100)] + [NegativeLog(), NegativeLogGap()]
    for inputs in (witness.inputs("") for witness in witnesses):
        assert inputs["class.C"] >= 4 * inputs["n"] * math.log(2)
    for s, enough in ((2, False), (2.04, False), (2.05, True)):
        assert (NegativeLog(7, s).inputs("")["class.C"] >= 28 * math.log(2)) is enough


def test_labels_that_are_coins_cannot_be_predicted():
    """ℓ = |f − y|/2: risk ½ for both answers, training loss 0 for the matching function."""
    grid = np.linspace(-9, 9, 37)
    clipped = np.clip(grid, -1, 1)
    loss = np.abs(clipped[:, None] - clipped[None]) / 2
    assert loss.max() == 1.0 and np.abs(np.diff(loss, axis=0)).max() <= 0.5 * np.diff(grid).max()
    for y in (-1, 1):
        assert min(abs(f - y) / 2 for f in (-1, 1)) == 0
    assert all(np.mean([abs(f - y) / 2 for y in (-1, 1)]) == 0.5 for f in (-1, 1))


@pytest.mark.parametrize("s", [1.0, 4.0, 100.0])
def test_heads_have_every_sign_pattern_at_any_scale(s):
    """The outputs of all 2^4 heads on 4 inputs, by the network itself."""
    p = 2
    head = Head(3 * p, Spectral(1.0), Col2Inf(1.0), sigma="identity", query="cls")
    X = tokens(p, s)
    assert np.linalg.norm(X, axis=-1).max() == pytest.approx(s)
    outputs = np.array([head.apply(weights(S, s), X)[:, 0] for S in PATTERNS])  # heads × inputs × d
    expected = np.array([S.ravel() for S in PATTERNS]) * value_reached()
    np.testing.assert_allclose(outputs.sum(-1) / math.sqrt(3 * p), expected, rtol=1e-9)
    apart = np.linalg.norm(outputs[:, None] - outputs[None], axis=-1).max(-1) + 9 * np.eye(16)
    assert apart.min() > 2 * RESOLUTION  # so no centre serves two of them


@pytest.mark.parametrize("p, s", [(2, 1.0), (3, 9.0)])
def test_the_norms_of_the_heads_are_those_given(p, s):
    rng = np.random.default_rng(0)
    W = weights(rng.choice([-1.0, 1.0], size=(p, p)), s)
    inputs = {
        "W_v.row2inf": 1 / (s * math.sqrt(p)),
        "W_v.col2inf": 1 / (s * math.sqrt(3 * p)),
        "W_v.op": 1 / s,
        "W_QK.col2inf": SHARPNESS * math.sqrt(p) / s**2,
    }
    for name, size in inputs.items():
        matrix, _, norm = name.partition(".")
        assert norm_named(norm)(W[matrix]) == pytest.approx(size)
        if s == float(p) ** 2:
            for statement in ShatteredScores.refutes:
                assert ShatteredScores(p).inputs(statement)[name] == pytest.approx(size)


def test_queries_of_norm_one_change_nothing_for_one_and_many_heads():
    """The proof's ‖x_τ‖ ≤ 1: W_QK is then s times larger, and the score term still vanishes."""
    witness = ShatteredScores()
    for statement in ("edelman2021/corollary-4.4", "edelman2021/lemma-A.12"):
        inputs = witness.inputs(statement)
        inputs["W_QK.col2inf"] *= witness.scale
        assert values(statement, inputs)["printed"] < witness.lower_bound()


def test_a_block_with_a_large_readout_has_every_sign_pattern():
    p, B_w = 2, 1e6
    inputs = LargeReadout(p).inputs("edelman2021/theorem-A.17")
    ball = Spectral(1.0)
    d = k = int(inputs["k"])
    assert d == inputs["d"] == 3 * p
    block = trauger_block(d, Spectral(inputs["W_QK.op"]), ball, ball, k=k, sigma="identity")
    network = block >> Readout(Frobenius(B_w))
    X, outputs = tokens(p, 1.0), []
    for S in PATTERNS:
        W = weights(S, 1.0)
        v = W["W_v"].sum(axis=1) / math.sqrt(d)  # of norm 1
        W_v, W_c, w = np.outer(v, np.eye(k)[0]), np.eye(k, 1) * np.eye(1, d), B_w * np.eye(d, 1)
        assert np.linalg.matrix_rank(W["W_QK"]) <= k  # W_Q and W_K are d×k
        assert norm_named("op")(W["W_QK"]) <= inputs["W_QK.op"] * (1 + 1e-12)
        for side in ("row2inf", "col2inf"):
            assert norm_named(side)(W["W_QK"]) == pytest.approx(inputs["W_QK.row2inf"])
            assert norm_named(side)(W_v) <= inputs["W_v.col2inf"] * (1 + 1e-12)
            assert norm_named(side)(W_c) <= inputs["W_c.col2inf"]
        assert norm_named("op")(W_v) == pytest.approx(inputs["W_v.op"])
        assert norm_named("op")(W_c) == inputs["W_c.op"]
        params = [{"W_QK": W["W_QK"], "W_v": W_v}, {}, {}, {"W_c": W_c}, {}, {"w": w}]
        outputs.append(network.apply(params, X).ravel())
    outputs = np.array(outputs)
    expected = np.array([S.ravel() for S in PATTERNS]) * value_reached() * B_w
    np.testing.assert_allclose(outputs, expected, rtol=1e-9)
    apart = np.abs(outputs[:, None] - outputs[None]).max(-1) + 9 * B_w * np.eye(16)
    assert apart.min() > 2 * RESOLUTION * B_w

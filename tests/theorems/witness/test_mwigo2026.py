"""The witnesses against mwigo2026: built, run, and compared with what they claim."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dudley.core.constraint import Frobenius, Spectral
from dudley.networks.blocks import shallow_encoder
from dudley.networks.head import Head
from dudley.theorems.registry import load
from dudley.theorems.witness.counterexamples.identical_inputs import (
    OneInput,
    RepeatedSample,
    WideReadout,
    mean_sign,
    printed_bracket,
)
from dudley.theorems.witness.counterexamples.loss_at_label import (
    LossAtTheLabel,
    cut,
    expected_start,
    unit_start,
)
from dudley.theorems.witness.counterexamples.many_heads import SignHeads
from dudley.theorems.witness.counterexamples.nine_cells import CELLS
from dudley.theorems.witness.counterexamples.rectified_heads import (
    RESOLUTION,
    RectifiedHeads,
    printed as printed_heads,
)
from dudley.theorems.witness.counterexamples.trained_encoder import (
    OrthogonalPair,
    TrainedEncoder,
    drawn,
)

STATEMENTS = load()


def value(id: str, inputs: dict, form: str) -> float:
    return STATEMENTS[f"mwigo2026/{id}"].evaluate_on(inputs, form).value


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max())
    return e / e.sum()


def paper_token(X, i, W_Q, W_K, W_V, w_O) -> float:
    """w_O·relu(W_V Xᵀ softmax(X W_KᵀW_Q x_i/√d_m)) as the paper writes it, matrices d_m×d."""
    attention = softmax(X @ W_K.T @ W_Q @ X[i] / math.sqrt(len(W_Q)))
    return float(w_O @ np.maximum(W_V @ X.T @ attention, 0.0))


def test_the_encoder_of_the_calculus_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    d, d_m, T = 3, 5, 4
    W_Q, W_K, W_V = rng.normal(size=(3, d_m, d))
    w_O, X = rng.normal(size=d_m), rng.normal(size=(T, d))
    ball = Frobenius(1.0)
    net = shallow_encoder(d, d_m, ball, ball, ball, ball)
    params = [{"W_Q": W_Q.T, "W_K": W_K.T, "W_v": W_V.T}, {"w": w_O[:, None]}]
    mean = np.mean([paper_token(X, i, W_Q, W_K, W_V, w_O) for i in range(T)])
    assert net.apply(params, X[None]).item() == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10])
def test_the_mean_of_signs_is_that_of_all_signs(n):
    signs = np.array(list(itertools.product((-1, 1), repeat=n)))
    assert mean_sign(n) == pytest.approx(np.abs(signs.sum(axis=1)).mean() / n)
    assert mean_sign(n) >= 1 / math.sqrt(2 * n) - 1e-12


def test_the_mean_of_many_signs():
    assert mean_sign(49) > mean_sign(51) > mean_sign(10**6) > 0
    assert mean_sign(50) == pytest.approx(mean_sign(51), rel=1e-12)  # as for 2 and 3
    assert mean_sign(10**6) == pytest.approx(math.sqrt(2 / math.pi / 10**6), rel=1e-5)


def test_identical_inputs_attain_the_complexity_they_claim():
    """The maximisers that the docstring names, run through the paper's formula."""
    rng, case = np.random.default_rng(1), OneInput(3, η_O=2.5)
    d = d_m = case.k
    x, u = np.eye(d)[0], np.abs(rng.normal(size=d_m))
    u /= np.linalg.norm(u)
    W_Q, W_K = rng.normal(size=(2, d_m, d))
    W_V = np.outer(u, x)
    assert np.linalg.norm(W_V) == pytest.approx(1.0)
    values = [paper_token(x[None], 0, W_Q, W_K, W_V, s * 2.5 * u) for s in (1, -1)]
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    complexity = np.mean([max(ε.sum() * v for v in values) for ε in signs]) / 3
    assert complexity == pytest.approx(case.complexity)


def test_an_initialisation_of_a_quarter_leaves_a_quarter_of_the_complexity():
    """Every W of norm ≤ η/2 is within R = 3η/4 of any W⁰ of norm ≤ η/4."""
    rng, η = np.random.default_rng(2), 1.0
    for _ in range(200):
        W0, W = rng.normal(size=(2, 3, 3))
        W0 *= η / 4 / np.linalg.norm(W0)
        W *= η / 2 / np.linalg.norm(W)
        assert np.linalg.norm(W - W0) <= 3 * η / 4 + 1e-12


@pytest.mark.parametrize("η_O", [10.0, 1e4])
def test_the_families_evaluate_the_statements_they_refute(η_O):
    inputs = OneInput(2, η_O).inputs()
    assert value("lemma-2", inputs, "printed") == pytest.approx(printed_bracket(2, 4, η_O))
    inputs = OneInput(1000).inputs()
    assert value("lemma-1", inputs, "printed") == pytest.approx(printed_bracket(1000, 4, 1) / 1000)
    inputs = RectifiedHeads(50).inputs("")
    assert value("lemma-6", inputs, "printed") == pytest.approx(printed_heads(50))
    assert WideReadout().family().exponent > 0.8 and RepeatedSample().family().exponent > 0.7
    assert RectifiedHeads().family().exponent > 1.7


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_all_nine_cells_have_a_negative_complexity(cell):
    inputs = cell.inputs()
    bound = STATEMENTS["mwigo2026/lemma-2"].evaluate_on(inputs, "printed")
    assert bound.negative is not None and bound.value < -100
    A = inputs["w.l2"] * inputs["W_v.fro"] * inputs["X.fro"]
    assert 0 < value("lemma-2", inputs, "best") <= value("lemma-2", inputs, "derived") <= A * 1.0001


def test_nine_cells_use_expected_norms():
    rng = np.random.default_rng(3)
    for d_m in (64, 1024):
        W = rng.normal(size=(d_m, 64)) / 8
        w = rng.normal(size=d_m) / math.sqrt(d_m)
        (inputs,) = {tuple(c.inputs().items()) for c in CELLS if (c.d_m, c.N) == (d_m, 400)}
        assert dict(inputs)["W_v.fro"] == pytest.approx(np.linalg.norm(W) + 1, rel=0.02)
        assert dict(inputs)["w.l2"] == pytest.approx(np.linalg.norm(w) + 1, rel=0.1)
    small = next(c for c in CELLS if (c.d_m, c.N) == (64, 10_000))
    assert value("lemma-2", small.inputs(), "printed") == pytest.approx(-1160, rel=0.01)


@pytest.mark.parametrize("p", [2, 3])
def test_rectified_heads_realise_every_pattern_of_zeros_and_ones(p):
    """In the paper's orientation, with Θ = W_KᵀW_Q/√d_m, and by our head; norms as declared."""
    heads, witness = SignHeads(p), RectifiedHeads(p)
    X, inputs, d_m = heads.tokens(), witness.inputs(""), heads.d
    patterns = list(itertools.product((-1, 1), repeat=p * p))
    if p == 3:
        patterns = patterns[::37]
    head = Head(heads.d, Spectral(1.0), Spectral(1.0), sigma="relu", query="cls")
    for signs in patterns:
        W = heads.weights(signs)
        Θ = W["W_QK"].T
        W_K, W_Q = math.sqrt(d_m) * np.eye(d_m), Θ
        rows = [paper_token(x, 2, W_Q, W_K, W["W_v"].T, W["w"]) for x in X]
        expected = heads.τ * (np.array(signs) > 0)
        np.testing.assert_allclose(rows, expected, atol=1e-12)
        ours = head.apply({"W_QK": W["W_QK"], "W_v": W["W_v"]}, X)[:, 0] @ W["w"]
        np.testing.assert_allclose(ours, expected, atol=1e-12)
        assert np.linalg.norm(Θ, axis=0).sum() == pytest.approx(inputs["W_QK.row21"])
        assert np.linalg.norm(W["w"]) == inputs["w.l2"]
        assert np.linalg.norm(W["W_v"].T, axis=0).sum() == pytest.approx(inputs["W_v.row21"])
        assert np.linalg.norm(W["W_v"], axis=0).sum() == pytest.approx(inputs["W_v.col21"])
        assert np.linalg.norm(W["W_v"], 2) == pytest.approx(inputs["W_v.op"])
    assert np.linalg.norm(X, axis=-1).max() <= inputs["X.row2inf"] * (1 + 1e-12)
    assert len(X) == inputs["n"] and heads.τ / 2 > RESOLUTION


# -- training ------------------------------------------------------------------------------------


def whole(k: int, seed: int):
    """The same model with every entry drawn: W_V ∈ R^{k×k}, for small k."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((k, k)) / math.sqrt(k), rng.standard_normal(k) / math.sqrt(k)


def test_two_columns_are_enough_for_the_features_the_fit_and_a_step():
    """One step of gradient descent on Φ with all of W_V, by differences, against two columns."""
    k = 40
    W_V, w = whole(k, 5)
    X = np.eye(k)[:2]

    def Φ(W_V, w):
        return 0.5 * sum((w @ np.maximum(W_V @ x, 0.0)) ** 2 for x in X)

    h, f = np.maximum(X @ W_V.T, 0.0), np.maximum(X @ W_V.T, 0.0) @ w
    by_hand = np.zeros_like(W_V)
    by_hand[:, :2] = (f[:, None] * (h > 0) * w).T
    for i, j in ((0, 0), (3, 1), (7, 5), (11, 1)):
        E = np.zeros_like(W_V)
        E[i, j] = 1e-6
        slope = (Φ(W_V + E, w) - Φ(W_V - E, w)) / 2e-6
        assert slope == pytest.approx(by_hand[i, j], abs=1e-8)
    e = np.eye(k)[4] * 1e-6
    assert (Φ(W_V, w + e) - Φ(W_V, w - e)) / 2e-6 == pytest.approx((f @ h)[4], abs=1e-8)


def test_the_limits_of_the_features():
    """α² → ½ − 1/2π, and the norms of LeCun initialisation."""
    it = drawn(1_000_000, 7)
    assert it.α**2 == pytest.approx(0.5 - 1 / (2 * math.pi), rel=5e-3)
    assert it.norms[:3] == pytest.approx([1000.0] * 3, rel=1e-3)
    assert it.norms[3] == pytest.approx(1.0, rel=5e-3)
    W_V, _ = whole(600, 1)
    assert np.linalg.norm(W_V) == pytest.approx(math.sqrt(600), rel=0.02)
    assert np.linalg.norm(W_V, 2) < 2.05
    h = np.maximum(W_V[:, :2].T, 0.0)
    assert np.linalg.svd(h, compute_uv=False)[-1] ** 2 == pytest.approx(it.α**2, rel=0.3)


@pytest.mark.parametrize("seed", range(8))
def test_every_seed_tried_satisfies_the_hypotheses_and_refutes_lemma_4(seed):
    pair = OrthogonalPair(2_000_000, seed)
    printed = STATEMENTS["mwigo2026/lemma-4"].evaluate_on(pair.inputs(), "printed")
    assert printed.details["hypotheses_hold"]
    assert printed.details["probability"] > 0.5
    assert printed.value == pytest.approx(pair.printed)
    assert pair.draw.loss > 1e4 * printed.value
    assert pair.draw.loss <= value("lemma-4", pair.inputs(), "derived")


def test_theorem_5_says_nothing_where_its_right_hand_side_is_negative():
    """There √(P/N) alone is above A, the largest |f|: the logarithm is to be cut, no more."""
    inputs = OrthogonalPair(2_000_000, 0).inputs() | {"d": 2_000_000}
    risk = STATEMENTS["mwigo2026/theorem-5"].evaluate_on(inputs, "printed")
    assert risk.negative is not None and risk.details["hypotheses_hold"]
    A = inputs["w.l2"] * inputs["W_v.fro"] * inputs["X.fro"]
    assert cut(inputs) > 1e6 * A


def test_the_hats_alone_and_the_fourth_power_alone_are_each_enough():
    """Inputs of length 1 with ρ² for ρ⁴; inputs of length 10 with M and z for M̂ and ẑ.

    The model is homogeneous: inputs r times as long multiply features, predictions and loss by r.
    """
    witness = TrainedEncoder()
    inputs, loss = witness.inputs(""), witness.lower_bound()
    ρ = math.sqrt(2)
    assert value("lemma-4", inputs, "printed") * ρ**2 < loss  # the second term, times ρ⁴/ρ²

    longer = inputs | {"X.fro": 10.0, "features.smin": 10 * inputs["features.smin"]}
    longer["loss.initial"] = 100 * inputs["loss.initial"]
    longer |= {f"{W}.fro": inputs[f"{W}.op"] for W in ("W_Q", "W_K", "W_v")}
    bound = STATEMENTS["mwigo2026/lemma-4"].evaluate_on(longer, "printed")
    assert bound.details["hypotheses_hold"]
    assert bound.value < 10 * loss <= value("lemma-4", longer, "derived")


def test_a_small_k_does_not_satisfy_the_hypotheses():
    """The witness needs its width: the check on hypotheses can fail."""
    pair = OrthogonalPair(10_000, 0)
    bound = STATEMENTS["mwigo2026/lemma-4"].evaluate_on(pair.inputs(), "printed")
    assert not bound.details["hypotheses_hold"]


# -- the loss at the label ------------------------------------------------------------------------


def paper_root(v: dict) -> float:
    """√(P/N), d_s = 1."""
    P = (math.sqrt(v["k"]) * v["W_v.fro"]) ** (2 / 3)
    P += (math.sqrt(v["k"]) * v["W_K.fro"] * v["W_Q.fro"] * v["W_v.fro"]) ** (2 / 3)
    return v["X.fro"] * math.sqrt(P**3 * math.log(v["n"]) / v["n"])


@pytest.mark.parametrize("seed", range(4))
def test_theorem_5_fails_for_cross_entropy_cut_or_not(seed):
    witness = LossAtTheLabel(seed=seed)
    inputs, id = witness.inputs(""), "mwigo2026/theorem-5"
    printed = STATEMENTS[id].evaluate_on(inputs, "printed")
    assert printed.details["hypotheses_hold"] and printed.details["probability"] > 0
    assert 0 < printed.value < cut(inputs) < witness.lower_bound()
    trained, complexity, deviation = (term.value for term in printed.terms)
    root = complexity / (1 + math.log(LossAtTheLabel.largest(inputs) / paper_root(inputs)))
    assert cut(inputs) == pytest.approx(trained + root + deviation, rel=1e-9)
    for form in ("derived", "best"):
        assert value("theorem-5", inputs, form) >= witness.lower_bound()
        assert value("theorem-5", inputs | {"loss.at_label": 0.0}, form) <= 1


def test_the_repair_without_the_loss_at_the_label_would_be_refuted():
    """The input is needed: with 0 for ℓ(y, y) = log 2 the repaired bound falls below the truth."""
    witness = LossAtTheLabel(256, 10**6 * 256**4)
    inputs = witness.values(expected_start(witness.n, witness.k))
    assert value("theorem-5", inputs | {"loss.at_label": 0.0}, "best") < 0.1
    assert value("theorem-5", inputs, "best") >= math.log(2)


def test_the_pieces_of_a_start_are_those_of_the_whole():
    """Against all entries drawn at once, in distribution: norms, features and fit."""
    start, limit = unit_start(3, 1_000_000, 1), expected_start(3, 1_000_000)
    assert start.α == pytest.approx(limit.α, rel=5e-3)
    assert start.norms == pytest.approx(limit.norms, rel=5e-3)
    fits = [unit_start(3, 2_000, seed).Φ for seed in range(400)]
    assert np.mean(fits) == pytest.approx(expected_start(3, 2_000).Φ, rel=0.2)


def test_the_family_of_theorem_5_keeps_the_hypotheses_and_diverges():
    family = LossAtTheLabel().family()
    assert family.exponent == pytest.approx(0.5, abs=0.02)
    for n, printed in zip(family.sizes, family.printed, strict=True):
        witness = LossAtTheLabel(int(n), 10**6 * int(n) ** 4)
        inputs = witness.values(expected_start(witness.n, witness.k))
        bound = STATEMENTS["mwigo2026/theorem-5"].evaluate_on(inputs, "printed")
        assert bound.details["hypotheses_hold"] and bound.value < printed

"""Statements about the sparse-variable constructions, against the constructions themselves."""

from itertools import product

import numpy as np
import pytest

from dudley.core.errors import InputError
from dudley.networks.normalisers import Softmax
from dudley.theorems.constructions import bag_head, positions_head, trained_head
from dudley.theorems.constructions.assemble import build
from dudley.theorems.constructions.bases import Basis, almost_orthonormal
from dudley.theorems.constructions.bump import bump_weights, network_of
from dudley.theorems.constructions.targets import all_bits, target
from dudley.theorems.registry import evaluate, load
from dudley.theorems.witness.counterexamples.constructions import (
    BiasTooSmall,
    StepsForBumps,
    UnevenBag,
    UnevenPositions,
    star,
)
from each import each

NAMES = [f"lemma-B.{i}" for i in range(2, 9)] + ["proposition-4.7"]


def error_of(selector, T, s):
    bits = all_bits(T)
    return float(np.abs(selector.features(bits) - selector.goal(bits[:, :s])).max())


def test_all_are_registered_with_their_verdicts():
    verdicts = {name: load()[f"edelman2021/{name}"].verdict for name in NAMES}
    false = {name for name, verdict in verdicts.items() if verdict.is_false}
    assert false == {"lemma-B.2", "lemma-B.4", "lemma-B.8"}
    assert load()["edelman2021/proposition-4.7"].also == ("proposition-B.1",)


@each("s, Δ", list(product((1, 2, 3, 4), (0.0, 0.01, 0.05, 0.1, 0.2))))
@each("γ", [0.05, 0.5, 1.0])
def test_derived_errors_hold_of_the_printed_heads(s, Δ, γ):
    T = 8
    values = {"T": T, "s": s, "gamma": γ, "coherence": Δ}
    for pattern, seed in (("worst", 0), ("random", 0), ("random", 1), ("equal", 0)):
        basis = almost_orthonormal(T, Δ, tuple(range(s)), pattern, seed)
        printed = positions_head.one_head(basis, list(range(s)), γ, "printed")
        assert error_of(printed, T, s) <= evaluate("edelman2021/lemma-B.2", values).value + 1e-9
        if s * Δ < γ:
            for bits in (False, True):
                bag = bag_head.one_head(basis, list(range(s)), γ, "printed", bits)
                most = evaluate("edelman2021/lemma-B.4", values).value
                assert error_of(bag, T, s) <= most + 1e-9


@pytest.mark.parametrize("s, γ", list(product((1, 2, 4), (0.01, 1.0))))
def test_trained_positions_keep_the_derived_error_with_one_and_s_heads(s, γ):
    values = {"T": 9, "s": s, "gamma": γ}
    most = evaluate("edelman2021/lemma-B.3", values).value
    assert most < evaluate("edelman2021/lemma-B.3", values, "printed").value
    for make in (trained_head.one_head, trained_head.s_heads):
        assert error_of(make(9, list(range(s)), γ), 9, s) <= most


def test_printed_is_right_at_no_coherence():
    values = {"T": 10, "s": 3, "gamma": 0.1}
    for lemma in ("B.2", "B.4"):
        derived, printed = (
            evaluate(f"edelman2021/lemma-{lemma}", values, form).value
            for form in ("derived", "printed")
        )
        assert derived <= printed


def test_the_witnesses_agree_with_the_constructions():
    """Two independent programs for the same printed weights."""
    for witness, make in (
        (UnevenPositions(), positions_head.one_head),
        (UnevenBag(), bag_head.one_head),
    ):
        basis = Basis(star(witness.T, witness.s, witness.Δ))
        assert basis.coherence == pytest.approx(witness.Δ)
        printed = make(basis, list(range(witness.s)), witness.γ, "printed")
        assert error_of(printed, witness.T, witness.s) == pytest.approx(witness.lower_bound())
        repaired = make(basis, list(range(witness.s)), witness.γ)
        assert error_of(repaired, witness.T, witness.s) <= witness.γ / 4
    assert UnevenPositions().lower_bound() == pytest.approx(0.3805, abs=1e-3)
    assert UnevenBag().lower_bound() == pytest.approx(0.8498, abs=1e-3)
    assert StepsForBumps(n=7).lower_bound() == 7


def test_no_network_with_the_printed_norms_beats_the_bias_bound():
    """Random networks of the printed sizes and norms, the best readout within the norm or not."""
    δ, rng = 680.0, np.random.default_rng(0)
    x = np.linspace(δ, 3 * δ, 400)[:, None]
    floor = BiasTooSmall(δ).lower_bound()
    for _ in range(200):
        W_1, b_1 = rng.uniform(-2, 2, (1, 8)), rng.uniform(-2, 2, 8)
        W_2, b_2 = rng.uniform(-1, 1, (8, 4)) / δ, rng.uniform(-1, 1, 4) / δ
        units = np.maximum(np.maximum(x @ W_1 + b_1, 0) @ W_2 + b_2, 0)
        w = np.linalg.lstsq(units, np.ones(400), rcond=None)[0]
        w /= max(1.0, np.abs(w).max())
        assert np.abs(units @ w - 1).max() >= floor


@pytest.mark.parametrize("n, d_f, δ", [(2, 1, 0.25), (5, 2, 0.5), (8, 3, 2.0)])
def test_the_printed_network_errs_by_at_most_the_derived_bound(n, d_f, δ):
    rng = np.random.default_rng(n)
    cells = rng.choice(4**d_f, min(n, 4**d_f), replace=False)
    points = np.stack([cells // 4**j % 4 for j in range(d_f)], axis=1) * 4.0 * δ
    values = rng.uniform(-1, 1, len(points))
    weights = bump_weights(points, values, δ, "printed")
    inputs = {
        "n": len(points),
        "d": d_f,
        "tolerance": δ,
        "points.linf": float(points.max()),
        "target.bound": float(np.abs(values).max()),
    }
    bound = evaluate("edelman2021/lemma-B.8", inputs)
    for z in rng.uniform(-δ, δ, (20, d_f)):
        out = network_of(weights).apply(weights, points + z)[:, 0]
        assert np.abs(out - values).max() <= bound.value * (1 + 1e-9)
    repaired = bump_weights(points, values, δ)
    claimed = bound.details["repaired"]["W_1.linf"]
    assert max(np.abs(v).max() for v in repaired[0].values()) <= claimed * (1 + 1e-9)


@pytest.mark.parametrize("s", [1, 2, 3, 4, 5])
def test_the_frobenius_norms_are_the_derived_ones_and_grow_like_two_to_the_half_s(s):
    built = build(target("parity", s), 6, "trainable", heads="s")
    norms = [np.linalg.norm(np.vstack(list(layer.values()))) for layer in built.mlp]
    derived = evaluate("edelman2021/proposition-4.7", {"s": s}).value
    assert max(norms) == pytest.approx(derived)
    assert derived >= 2 ** (s / 2)


@pytest.mark.parametrize("lemma, heads", [("B.5", "one"), ("B.6", "s")])
@pytest.mark.parametrize("mapping", ["positions", "bag"])
def test_the_first_layer_is_within_both_claims(lemma, heads, mapping):
    built = build(target("majority", 3), 6, mapping, heads=heads)
    inputs = {"gamma": built.selector.γ, "points.linf": built.selector.bound}
    true = dict((claim.weight, value) for claim, value in built.norms())["W_1"]
    derived, printed = (
        evaluate(f"edelman2021/lemma-{lemma}", inputs, form).value
        for form in ("derived", "printed")
    )
    assert true <= derived * (1 + 1e-12) and derived <= printed * (1 + 1e-12)


def test_softmax_truncation_is_sharp():
    T, s, R = 12, 3, 2.5
    z = np.where(np.arange(T) < s, R, 0.0)
    cut = np.where(np.arange(T) < s, 1 / s, 0.0)
    moved = np.abs(Softmax().apply(z) - cut).sum()
    values = {"T": T, "s": s, "score.gap": R}
    derived = evaluate("edelman2021/lemma-B.7", values).value
    assert moved == pytest.approx(derived)
    assert derived < evaluate("edelman2021/lemma-B.7", values, "printed").value
    rng = np.random.default_rng(0)
    for _ in range(100):
        z = np.concatenate([R + rng.exponential(size=s), -rng.exponential(size=T - s)])
        truncated = np.zeros(T)
        truncated[:s] = Softmax().apply(z[:s])
        assert np.abs(Softmax().apply(z) - truncated).sum() <= derived


@pytest.mark.parametrize(
    "lemma, values",
    [
        ("B.2", {"T": 10, "s": 3, "gamma": 0.1, "coherence": 0.4}),
        ("B.2", {"T": 2, "s": 3, "gamma": 0.1}),
        ("B.2", {"T": 10, "s": 3, "gamma": 0.0}),
        ("B.3", {"T": 10, "s": 3, "gamma": 1.5}),
        ("B.4", {"T": 10, "s": 3, "gamma": 0.1, "coherence": 0.05}),
        ("B.5", {"gamma": 0.0, "points.linf": 1.0}),
        ("B.7", {"T": 2, "s": 3, "score.gap": 1.0}),
    ],
)
def test_hypotheses_that_fail_are_refused_in_both_forms(lemma, values):
    for form in ("printed", "derived"):
        with pytest.raises(InputError):
            evaluate(f"edelman2021/lemma-{lemma}", values, form)

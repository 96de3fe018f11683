"""mwigo2026, Lemma 4 and Theorem 5: quantities and hypotheses by hand, what fails is visible."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dudley.core.errors import InputError
from dudley.theorems.mwigo2026.encoder import Encoder
from dudley.theorems.mwigo2026.training import TrainingStart
from mwigo_statements import MATRICES, STATEMENTS, example, value


def test_the_quantities_of_lemma_4_by_hand():
    s = TrainingStart(
        n=4, T=2, k=100, X_fro=3.0, W_Q_fro=7.0, W_K_fro=8.0, W_v_fro=9.0, w_l2=1.5, W_Q_op=2.0,
        W_K_op=3.0, W_v_op=4.0, W_Q_moved=0.5, W_K_moved=0.25, W_v_moved=2.0, w_moved=1.0,
        features_smin=2.0, loss_initial=8.0, correlation_c=2.0, delta=0.1,
    )  # fmt: skip
    R_X = 3 / math.sqrt(2)
    assert s.ρ == pytest.approx(4**0.5 * 2**1.5 * R_X) == pytest.approx(12.0)
    terms = (4.0, 0.75, 0.2 * 9 * 3 * 4 * 1.5 / 0.5, 0.2 * 9 * 2 * 4 * 1.5 / 0.25)
    assert s.M == pytest.approx(max(terms)) == pytest.approx(86.4)
    assert s.M_hat == pytest.approx(0.2 * 9 * 7 * 9 * 1.5 / 0.25)
    assert s.z == pytest.approx(2.25 * (1 + 0.04 * 81 * 16 * 13))
    assert s.z_hat == pytest.approx(2.25 * (1 + 0.04 * 81 * 81 * 113))
    first, second, width = s.hypotheses
    assert (first.left, first.right) == pytest.approx((4.0, 8 * 12 * 86.4 * 4))
    assert (second.left, second.right) == pytest.approx((8.0, 32 * 144 * s.z * 4 / 1.5))
    assert (width.left, width.right) == (100, 64) and width.holds and not first.holds
    assert s.printed == pytest.approx(
        min(4 / (8 * 12 * s.M_hat * 2), 8 * 1.5 / (32 * 12**4 * s.z_hat * 2))
    )
    assert s.training_loss(0.1, 3) == pytest.approx((1 - 0.2) ** 1.5 * 2.0)
    assert s.failure(0.1) == pytest.approx(8 * math.exp(-50) + 0.1 + math.exp(-(3**-2) / 2))


@pytest.mark.parametrize("W", [*MATRICES, "w"])
def test_each_radius_has_its_own_term_in_M(W):
    inputs = example("lemma-4", W_K__op=2.5, **{f"{W}__moved": 1e-6})
    start = TrainingStart(
        **{k.replace(".", "_"): v for k, v in inputs.items() if not k.startswith("step")}
    )
    scores = 2 / 2000 * 2.2 * 1.2  # (2/√d_m)·‖X‖²·ξ_V·η_O
    wanted = {"W_Q": scores * 2.5, "W_K": scores * 3.0, "W_v": 1.2, "w": 2.2}
    ratio = start.M / 1e6
    assert ratio == pytest.approx(wanted[W])


def test_a_product_of_moved_matrices_stays_in_its_ball():
    rng, worst = np.random.default_rng(4), 0.0
    for _ in range(300):
        Q0, K0, DQ, DK = rng.normal(size=(4, 3, 4)) * rng.uniform(0.1, 2.0, size=(4, 1, 1))
        if _ % 2:  # aligned, where the bound is nearly attained
            DK = rng.uniform(0.1, 1.0) * np.outer(u := rng.normal(size=3), v := rng.normal(size=4))
            Q0, K0 = np.outer(u, v), np.outer(u, v)
            DQ = rng.uniform(0.1, 1.0) * np.outer(u, v)
        Q, K = Q0 + DQ, K0 + DK
        e = Encoder(
            1, 1, 3, 4, 1.0, *(float(np.linalg.norm(W)) for W in (Q, K)), 1.0, 1.0,
            W_Q_op=float(np.linalg.norm(Q, 2)), W_K_op=float(np.linalg.norm(K, 2)),
            W_Q_moved=float(np.linalg.norm(DQ)), W_K_moved=float(np.linalg.norm(DK)),
        )  # fmt: skip
        plain, spectral, near = e.product().balls
        assert np.linalg.norm(Q @ K.T) <= plain.radius * (1 + 1e-12)
        assert np.linalg.norm(Q @ K.T, 2) <= spectral.radius * (1 + 1e-12)
        moved = float(np.linalg.norm(Q @ K.T - Q0 @ K0.T))
        assert near.norm == "fro" and moved <= near.radius * (1 + 1e-12)
        worst = max(worst, moved / near.radius)
    assert worst > 0.7


def test_the_hats_point_the_wrong_way():
    """With the hypotheses tight the repaired minimum is the initial loss; the printed one is less.

    And with M, z and ρ², the minimum never falls below the derived form where the hypotheses hold.
    """
    inputs = example("lemma-4")
    s = TrainingStart(
        **{k.replace(".", "_"): v for k, v in inputs.items() if k not in ("step.size", "steps")}
    )
    assert s.M_hat > s.M and s.z_hat > s.z
    α, root = s.features_smin, math.sqrt(s.n)
    repaired = min(α**2 / (8 * s.ρ * s.M * root), α**3 * s.w_l2 / (32 * s.ρ**2 * s.z * root))
    assert all(h.holds for h in s.hypotheses)
    assert s.printed < value("lemma-4", inputs) <= repaired


def test_hypotheses_that_fail_are_visible():
    for id in ("lemma-4", "theorem-5"):
        for form in STATEMENTS[f"mwigo2026/{id}"].forms:
            it = STATEMENTS[f"mwigo2026/{id}"]
            good = it.evaluate_on(example(id), form)
            assert good.details["hypotheses_hold"] and "NOT HOLD" not in str(good)
            bad = it.evaluate_on(example(id, loss__initial=1.0, n=1000), form)
            data = json.loads(json.dumps(bad.to_json(), allow_nan=False))
            assert [h["holds"] for h in data["hypotheses"]] == [False] * 3
            assert not data["hypotheses_hold"]
            assert str(bad).count("DOES NOT HOLD") == 3
            assert "hypotheses that do not hold: features; features, cubed; width" in str(bad)


def test_the_stated_probability_vanishes_with_many_samples():
    it = STATEMENTS["mwigo2026/lemma-4"]
    stated = [
        it.evaluate_on(example("lemma-4", n=n, T=13), "printed").details["probability"]
        for n in (2, 400, 10**6)
    ]
    assert stated[0] > stated[1] > stated[2] and stated[1] == pytest.approx(1.9e-4 - 0.05, abs=1e-5)
    assert stated[2] < 0
    alone = it.evaluate_on(example("lemma-4", n=1), "printed")
    assert alone.details["probability"] == pytest.approx(0.95)


def test_inconsistent_norms_and_large_steps_are_refused():
    for change in ({"W_v__moved": 3.0}, {"W_Q__op": 1e5}, {"w__moved": 2.0}, {"w__moved": 0.0}):
        with pytest.raises(InputError, match="R"):
            value("lemma-4", example("lemma-4", **change))
    with pytest.raises(InputError, match=r"step\.size"):
        value("lemma-4", example("lemma-4", step__size=7.0))
    with pytest.raises(InputError, match="delta"):
        tiny = {f"{W}__moved": 1e-3 for W in (*MATRICES, "w")}
        value("theorem-5", example("theorem-5", **tiny, delta=0.5), "printed")


def test_theorem_5_adds_up():
    inputs = example("theorem-5", k=64, d=64, n=10**9, X__fro=1e-3, loss__initial=1e-3)
    inputs |= {f"{W}.fro": 9.0 for W in MATRICES}
    it = STATEMENTS["mwigo2026/theorem-5"]
    norms = {i: v for i, v in inputs.items() if i in example("lemma-1") or i.endswith(".moved")}
    norms |= {f"{W}.op": inputs[f"{W}.op"] for W in MATRICES}
    for form, factor, log in (("derived", 3, math.log(2 / 0.05)), ("best", 1, math.log(1 / 0.05))):
        R = value("lemma-1", norms, form)
        training = value("lemma-4", {k: v for k, v in inputs.items() if k != "d"})
        drift = factor * math.sqrt(log / (2 * 10**9))
        assert it.evaluate_on(inputs, form).value == pytest.approx(training + 2 * R + drift)
    printed = it.evaluate_on(inputs, "printed")
    assert printed.value == pytest.approx(
        value("lemma-4", {k: v for k, v in inputs.items() if k != "d"}, "printed")
        + value("lemma-2", {k: v for k, v in norms.items() if k in example("lemma-2")}, "printed")
        + math.sqrt(math.log(math.hypot(1, 1, 0.2, 0.2) / 0.05) / 1e9)
    )
    assert (
        it.evaluate_on(inputs | {"loss.range": 1e-6}).value == 1e-6
    )  # never above the trivial one


def test_p_explodes_in_the_regime_of_theorem_5():
    """d_m = N³ and expected LeCun norms: √(P/N) grows like N^5.5, and the sum is negative."""
    roots = []
    for N in (4, 8, 16, 32):
        k = N**3
        η = math.sqrt(k) + 1
        e = Encoder(N, 1, k, k, 1.0, η, η, η, 2.0)
        roots.append(math.sqrt(e.P / N / math.log(N)))
        assert e.printed < 0
    slopes = np.diff(np.log(roots)) / math.log(2)
    assert slopes[-1] == pytest.approx(5.5, abs=0.1)

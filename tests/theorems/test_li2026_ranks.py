"""Li et al., section 5.2: allocation and rank-based bounds against other oracles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from dudley.calculus.compose import Chain
from dudley.calculus.repeat import Repeat
from dudley.core.constraint import L2, Spectral
from dudley.core.errors import InputError
from dudley.networks.blocks import li_block
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems.li2026.allocation import capped, least_value, printed_value
from dudley.theorems.li2026.ranks import LogCover, RankedMatrices, bound_by_log, bound_by_log_log
from dudley.theorems.registry import evaluate, load
from dudley.theorems.witness.counterexamples.low_rank import RANK_BASED, LabelNoiseLowRank
from dudley.theorems.witness.counterexamples.one_hot import OneHotLowRank
from dudley.theorems.witness.rank_constants import serving

STATEMENTS = load()
SMALL = RankedMatrices(8, 4, 2, 3, 4, 0.5, 1.5, 0.8, 1.2, 1.1)


# -- Corollary 5.6 ----------------------------------------------------------------------------


def test_the_split_of_three_blocks_is_the_catalogued_one():
    blocks = ([1.0, 2.0, 3.0], [1.0, 0.5, 2.0], [1.0, 3.0, 0.7], 2.0, 0.3)
    assert least_value(*blocks) == pytest.approx(47.33, abs=5e-3)
    assert printed_value(*blocks) == pytest.approx(29.65, abs=5e-3)


def test_the_split_is_that_of_a_numerical_optimiser():
    rng = np.random.default_rng(0)
    for _ in range(10):
        m = int(rng.integers(2, 5))
        r, C, β = rng.uniform(1, 4, m), rng.uniform(0.2, 2, m), rng.uniform(0.3, 3, m)
        B_X, ε = float(rng.uniform(0.5, 2)), float(rng.uniform(0.05, 0.2))

        def cost(u, r=r, C=C, β=β, B_X=B_X, ε=ε):
            return float((r * C * np.log(r * B_X**2 / (ε * softmax(u) / β) ** 2)).sum())

        least = minimize(cost, np.zeros(m)).fun
        assert least_value(r, C, β, B_X, ε) == pytest.approx(least, rel=1e-6)
        assert printed_value(r, C, β, B_X, ε) != pytest.approx(least, rel=1e-3)


def test_capped_blocks_give_back_what_they_do_not_need():
    rng = np.random.default_rng(1)
    share = np.linspace(0, 1, 200_001)[1:-1]
    for _ in range(20):
        p, log_a = rng.uniform(0.1, 3, 2), rng.normal(0, 2, 2)
        costs = 2 * p[0] * np.maximum(log_a[0] - np.log(share), 0)
        costs += 2 * p[1] * np.maximum(log_a[1] - np.log(1 - share), 0)
        assert capped(p, log_a) <= costs.min() + 1e-9
        assert capped(p, log_a) == pytest.approx(costs.min(), rel=1e-3, abs=1e-3)


def test_blocks_that_cost_nothing_are_left_out():
    assert capped([0.0, 1.0], [3.0, 1.0]) == pytest.approx(2.0)
    assert capped([1.0, 1.0], [-math.inf, 1.0]) == pytest.approx(2.0)
    assert capped([1.0, 1.0], [-3.0, -2.0]) == 0.0  # both fit


# -- the printed pieces -----------------------------------------------------------------------


def test_printed_weights_of_the_stack_by_a_plain_loop():
    m, L, c, B_X, δ = SMALL, 3, 2.0, 1.7, 0.01
    step = 1.1 * 0.8 * 1.5 * (1 + 4 * 0.5)
    α = [step ** (L - i) for i in range(L)]  # α_i = Π_{j=i}^L
    β = [1.0]
    β += [a * 1.2 for a in α]
    β += [a * 1.2 * 1.1 * 1.5 for a in α]
    β += [a * 2 * 1.1 * 0.8 * 1.5 * 1.2 for a in α]
    r = [1] + 3 * [4] + 3 * [3] + 3 * [2]
    assert np.exp(m.stack_weights(L)) == pytest.approx(β)
    assert m.ranks(L).tolist() == r
    by_hand = printed_value(r, [c] * 10, β, B_X, δ)  # Corollary 5.6 as printed
    assert m.stack_cover(B_X, L, c)(δ) == pytest.approx(by_hand)


def test_printed_pieces_of_the_layer_by_hand():
    m, H, c, B_x, δ = SMALL, 3, 2.0, 1.7, 0.01
    β = {"w": 3 * 0.8, "c": 3 * 1.2 * 1.1, "v": 3 * 1.2 * 1.1 * 0.8}
    β["QK"] = 2 * 3 * 1.2 * 1.1 * 0.8 * 1.5
    r = {"w": 1, "c": 4, "v": 3, "QK": 2}
    total = 0.0
    for j in r:
        ε = δ * r[j] * c / (β[j] * c * 10)
        total += r[j] * c * math.log(r[j] * B_x**2 / ε**2)
    assert m.layer_cover(B_x, H, c)(δ) == pytest.approx(total)


@pytest.mark.parametrize("id", RANK_BASED)
def test_printed_bounds_at_a_given_resolution(id):
    """B_X and not B_x in the prefactor; (1 + log N) once, (1 + log N_rank) twice."""
    s, δ = STATEMENTS[id], 1e-3
    values = {**s.example, "X.op": 5.0, "X.row2inf": 2.0, "target.bound": 0.5, "resolution": δ}
    values |= {"class.approximation": 0.25, "c": 3}
    m = RankedMatrices(64, 64, 2, 4, 4, 1.0, 1.0, 1.0, 1.0, 1.0)
    if id.endswith("5.8"):
        expected = 4 * (0.5 + 1) / 1e6 * (1 + m.stack_cover(5.0, 2, 3)(δ))
    else:
        H = values.get("H", 1)
        expected = 4 * (0.5 + H * 5) / 1e6 * (1 + math.log(1 + m.layer_cover(2.0, H, 3)(δ)))
    bound = s.evaluate_on(values, "printed").value
    assert bound == pytest.approx(expected + 8 * δ + 0.25)


def test_a_stack_of_ninety_six_layers():
    m = RankedMatrices(64, 64, 4, 4, 4, 10.0, 100.0, 100.0, 1.0, 1.0)
    assert np.isfinite(m.stack_weights(96)).all() and m.stack_weights(96).shape == (289,)
    values = {**STATEMENTS["li2026/theorem-5.8"].example, "L": 96, "W_v.op": 100.0, "n": 1e9}
    for form in ("printed", "derived", "best"):
        assert 0 < evaluate("li2026/theorem-5.8", values, form).value < math.inf


@pytest.mark.parametrize("rule", [bound_by_log, bound_by_log_log])
def test_the_best_resolution_is_that_of_a_fine_grid(rule):
    rng = np.random.default_rng(3)
    for _ in range(40):
        slope = float(np.exp(rng.uniform(-2, 4)))
        cover = LogCover(slope * float(rng.normal(0, 3)), slope)
        P, κ = float(np.exp(rng.uniform(-15, 3))), float(np.exp(rng.normal(0, 1)))
        grid = cover.end - np.linspace(0, 40, 20_001)  # every δ with a log-cover ≥ 0
        values = [rule(cover, P, κ, math.exp(t)) for t in grid]
        bound = rule(cover, P, κ, math.inf)
        assert bound <= min(values) * (1 + 1e-9)
        assert bound == pytest.approx(min(values), rel=1e-4)


def test_a_resolution_without_a_logarithm_is_refused():
    s = STATEMENTS["li2026/theorem-B.4"]
    with pytest.raises(InputError, match="N_rank"):
        s.evaluate_on({**s.example, "resolution": 1e6}, "printed")


# -- the derived entropies --------------------------------------------------------------------


def factor_cover(r, a, b, x):
    """min{ra log(1 + 2x(a+b)/a) + rb log(1 + 2x(a+b)/b), ab log(1 + 2x)}."""
    low = r * a * np.log1p(2 * x * (a + b) / a) + r * b * np.log1p(2 * x * (a + b) / b)
    return np.where(x <= 1, 0.0, np.minimum(low, a * b * np.log1p(2 * x)))


def best_split(blocks, δ):
    """The cheapest split found by an optimiser over (rank, a, b, norm, weight)."""
    r, a, b, B, β = (np.array(column, dtype=float) for column in zip(*blocks, strict=True))

    def cost(u):
        return float(factor_cover(r, a, b, B * β / (δ * softmax(u))).sum())

    starts = [np.zeros(len(r)), np.log(r * (a + b)), np.log(a * b)]
    return min(
        minimize(cost, s, method="Nelder-Mead", options={"maxiter": 4000}).fun for s in starts
    )


def test_the_derived_entropy_of_a_layer_is_the_sum_of_its_matrices():
    """Weights of one head: w 1, W_c B_w, W_v B_wB_cL_σ, W_QK B_wB_cB_vL_σR², on their radii."""
    m, R, H, δ = SMALL, 1.5, 2, 1e-3
    hidden = 1.1 * 1.5 * R
    blocks = [(8, 8, 1, 1.2, H * hidden * 0.8)]
    for _ in range(H):
        blocks += [(4, 4, 8, 0.8, 1.2 * hidden), (3, 8, 4, 1.5, 1.2 * 0.8 * 1.1 * R)]
        blocks += [(2, 8, 8, 0.5, 1.2 * 0.8 * 1.5 * 1.1 * R**3)]
    assert m.entropy(m.layer(H), R)(δ) == pytest.approx(best_split(blocks, δ), rel=0.01)


def test_the_derived_entropy_of_a_stack_is_the_sum_of_its_matrices():
    """Two blocks in which σ acts twice: T11 with radii R and 1."""
    m, R, δ = SMALL, 1.5, 1e-3
    B_QK, B_v, B_c, B_w, L_σ = 0.5, 1.5, 0.8, 1.2, 1.1
    blocks = [(8, 8, 1, B_w, min(1.0, L_σ))]
    second = L_σ**2 * B_c * B_v * (1 + 2 * B_QK)
    for radius, α in ((R, second), (1.0, 1.0)):
        through = B_w * α * L_σ
        blocks += [(4, 4, 8, B_c, through * L_σ * B_v * radius)]
        blocks += [(3, 8, 4, B_v, through * L_σ * B_c * radius)]
        blocks += [(2, 8, 8, B_QK, through * L_σ * B_c * B_v * radius**3)]
    assert m.entropy(m.stack(2), R)(δ) == pytest.approx(best_split(blocks, δ), rel=0.02)


# -- the witnesses ----------------------------------------------------------------------------


def networks(d: int) -> dict[str, Chain]:
    ball = Spectral(1.0)
    head = Head(d, W_v=ball, W_QK=ball, W_c=ball, sigma="identity", query="cls")
    block = li_block(d, ball, ball, ball, sigma="identity")
    return {"layer": head >> Readout(L2(1.0)), "stack": Repeat(block, 1) >> Readout(L2(1.0))}


def minimiser(kind: str, u: np.ndarray):
    """The weights of x ↦ u·x as matrices of rank one, in the nesting that ``apply`` expects."""
    e = np.eye(len(u))[0]
    head = {
        "W_QK": np.zeros((len(u), len(u))),
        "W_v": np.outer(u, e),
        "W_c": np.outer(e, e),
    }
    inner = head if kind == "layer" else [[head, {}, {}, {}]]
    return head, [inner, {"w": e[:, None]}]


@pytest.mark.parametrize("kind", ["layer", "stack"])
def test_the_one_hot_minimiser_is_in_the_class_and_errs(kind):
    n = 12
    witness, rng, losses = OneHotLowRank(n), np.random.default_rng(4), []
    d = witness.d
    X = np.eye(d)[:, None, :]  # every input, one token each
    for _ in range(20):
        sample = rng.integers(0, d, n)
        unseen = np.setdiff1d(np.arange(d), sample)
        u = np.zeros(d)
        u[unseen] = 1 / math.sqrt(len(unseen))
        head, params = minimiser(kind, u)
        assert np.linalg.matrix_rank(head["W_v"]) == np.linalg.matrix_rank(head["W_c"]) == 1
        inputs = witness.inputs("li2026/theorem-B.4")
        for name, W in head.items():
            assert np.linalg.norm(W, 2) <= inputs[f"{name}.op"] + 1e-12
        f = np.ravel(networks(d)[kind].apply(params, X))
        assert np.abs(f[sample]).max() == 0  # a minimiser: the training loss is 0
        losses.append(np.abs(f).mean())
    assert min(losses) >= witness.lower_bound() - 1e-12
    assert np.mean(losses) < 2 * witness.lower_bound()  # and not far above


def test_the_majority_errs_as_often_as_the_witness_says():
    witness = LabelNoiseLowRank(1001)
    rng = np.random.default_rng(5)
    heads = rng.binomial(1001, 0.5 + witness.h, 200_000)
    error = 4 * witness.h * (heads <= 500)
    deviation = 6 * error.std() / math.sqrt(len(error))
    assert abs(error.mean() - witness.lower_bound()) < deviation
    assert witness.lower_bound() * math.sqrt(1001) == pytest.approx(0.34, abs=0.01)


def test_families_hold_the_printed_values():
    for c in (12.0, 30.0):
        family = LabelNoiseLowRank().family(c)
        for n, printed in zip(family.sizes, family.printed, strict=True):
            stack, *layers = (
                evaluate(id, LabelNoiseLowRank(int(n)).inputs(id) | {"c": c}, "printed").value
                for id in RANK_BASED
            )
            assert stack == pytest.approx(printed, rel=1e-9)
            assert max(layers) <= stack
        assert family.exponent > 0.3
    family = OneHotLowRank().family()
    for n, printed in zip(family.sizes, family.printed, strict=True):
        for id in OneHotLowRank.refutes:
            inputs = OneHotLowRank(int(n)).inputs(id) | {"resolution": 1 / n}
            assert evaluate(id, inputs, "printed").value == pytest.approx(printed, rel=1e-9)


@pytest.mark.parametrize("id", RANK_BASED)
def test_every_constant_is_refuted_in_the_end(id):
    """12 is that of the instance, and 24 allows for a rank bound 2 of w."""
    for c in (6.0, 12.0, 24.0, 300.0):
        refuted = []
        for e in (9, 11, 14):
            w = LabelNoiseLowRank(10**e + 1)
            printed = evaluate(id, w.inputs(id) | {"c": c}, "printed").value
            refuted.append(printed < w.lower_bound())
        assert refuted[-1] and sorted(refuted) == refuted


def test_a_rank_bound_two_of_the_readout_prints_less_than_twice_the_constant():
    """N_rank of 5.8 with r_w = 2 at C_1 = 6 is below that with r_w = 1 at C_1 = 12."""
    n = LabelNoiseLowRank().n
    for δ in np.logspace(-12, -2, 11):
        with_two = 6 * sum(2 * math.log(4 * β / δ**2) for β in (1, 5, 5, 10))
        inputs = LabelNoiseLowRank().inputs("li2026/theorem-5.8") | {"resolution": δ}
        printed = evaluate("li2026/theorem-5.8", inputs, "printed").value
        assert 8 / n * (1 + with_two) + 8 * δ < printed


@pytest.mark.parametrize("id", OneHotLowRank.refutes)
def test_the_logarithm_of_n_rank_is_refuted_even_with_the_dimension_in_the_constant(id):
    for e in (6, 8, 10):
        w = OneHotLowRank(10**e)
        inputs = w.inputs(id)
        assert inputs["c"] == serving(2 * 10**e, 2 * 10**e)
        for more in (1, 2, 100):  # 2 allows for a rank bound 2 of w
            printed = evaluate(id, inputs | {"c": more * inputs["c"]}, "printed").value
            assert printed < w.lower_bound()


@pytest.mark.parametrize("id", RANK_BASED)
def test_derived_bounds_fall_only_where_the_noise_allows_it(id):
    s = STATEMENTS[id]
    known = s.evaluate_on({**s.example, "n": 10**9}, "best").value
    unknown = s.evaluate_on({**s.example, "n": 10**9, "noise.free": 0}, "best").value
    assert unknown > 10 * known
    more = s.evaluate_on({**s.example, "n": 10**9, "class.approximation": 0.01}).value
    assert more == pytest.approx(s.evaluate_on({**s.example, "n": 10**9}).value + 0.03)

"""li2026, definitions and norm-based bounds: printed values by hand, derived ones by oracles."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dudley.core.constraint import L2, L11, Spectral
from dudley.core.entropy import PowerLaw
from dudley.networks.activations import Activation
from dudley.networks.blocks import li_block
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.theorems import excess
from dudley.theorems.li2026.gammas import Bounds, γ_MH, γ_ML, γ_SH
from dudley.theorems.li2026.norm_models import Class, heads, layers
from dudley.theorems.registry import load
from dudley.theorems.witness.counterexamples.unseen_heads import QueryHeads

STATEMENTS = load()
ONE = L11(1.0)
THEOREMS = ("li2026/theorem-5.3", "li2026/theorem-B.1", "li2026/theorem-B.2")


def value(number: str, inputs, form: str = "derived") -> float:
    return STATEMENTS[f"li2026/{number}"].evaluate_on(inputs, form).value


# -- the printed γ ---------------------------------------------------------------------------


def test_gammas_by_hand():
    """27^{1/3}·8^{2/3} = 12; (B_wL_σB_cB_v)^{2/3} = 8^{2/3} = 4."""
    b = Bounds(QK=5.0, v=8.0, c=1.0, w=1.0, σ=1.0)
    assert float(γ_SH(b, 27.0, 8.0)) == pytest.approx(12 * (1 + 2 * 4 + 1))
    assert float(γ_MH(b, 27.0, 8.0, H=8)) == pytest.approx(12 * (4 + 2 * 16 + 4))
    assert float(γ_SH(Bounds(5.0, 1.0, 8.0, 8.0, 1.0), 27.0, 8.0)) == pytest.approx(12 * 37)


def test_gamma_of_layers_by_hand():
    """B_QK = 7/4: a step is 8·(1 + 7) = 64; α_2 = 64, α_1 = 4096, α_1^{2/3} = 256."""
    b = Bounds(QK=1.75, v=8.0, c=1.0, w=1.0, σ=1.0)
    first = (2 * 8 * 64 * 4) ** (2 / 3) + 2 ** (2 / 3) * (1 + 16 + (64 * 8) ** (2 / 3))
    assert float(γ_ML(b, 1.0, 2.0, L=1)) == pytest.approx(first)
    γ = (2 * 8 * 4096 * 4) ** (2 / 3) + 2 ** (2 / 3) * (1 + 256 + (4096 * 8) ** (2 / 3))
    η = 16 + (2 * 64 * 8) ** (2 / 3) + (64 * 8) ** (2 / 3)
    assert float(γ_ML(b, 27.0, 2.0, L=2)) == pytest.approx(3 * (γ + η))
    c = Bounds(QK=0.0, v=1.0, c=8.0, w=8.0, σ=1.0)  # B_v in the last terms, not B_c
    γ = (2 * 8 * 64 * 8) ** (2 / 3) + 1 + (64 * 8) ** (2 / 3) * 2
    η = 4 * (4 + (2 * 8 * 8) ** (2 / 3) + 4)
    assert float(γ_ML(c, 1.0, 1.0, L=2)) == pytest.approx(γ + η)


def test_deep_networks_stay_in_log_space():
    b = Bounds(QK=10.0, v=10.0, c=10.0, w=1.0, σ=1.0)
    assert γ_ML(b, 1.0, 1.0, L=5000).log == pytest.approx(5000 * math.log(4100) * 2 / 3, rel=1e-3)
    assert γ_ML(Bounds(1.0, 0.0, 1.0, 1.0, 1.0), 1.0, 1.0, L=9).log == pytest.approx(0.0)


@pytest.mark.parametrize("id", THEOREMS)
def test_without_a_resolution_the_printed_bound_is_at_the_best_one(id):
    s = STATEMENTS[id]
    inputs = {**s.example, "n": 1e5, "kappa": 0.7, "class.approximation": 0.01}

    def at(log_δ: float) -> float:
        return s.evaluate_on({**inputs, "resolution": math.exp(log_δ)}, "printed").value

    optimum = minimize_scalar(at, bounds=(-40.0, 5.0), method="bounded", options={"xatol": 1e-10})
    assert s.evaluate_on(inputs, "printed").value == pytest.approx(optimum.fun, rel=1e-9)


def test_printed_values_by_hand():
    common = {"n": 100, "kappa": 2.0, "target.bound": 1.0, "class.approximation": 0.25}
    common |= {"d": 3, "k": 1, "W_QK.l11": 9.0, "W_v.l11": 8.0, "W_c.l11": 1.0, "w.l2": 1.0}
    common |= {"sigma.lipschitz": 1.0, "X.row2inf": 8.0, "resolution": 0.5}
    C_1 = math.log(7)
    head = 4 * (2 + 2 * 8 * 5) / 100 * (1 + math.log(C_1 * 64 * 1000 / 0.25)) + 8 + 0.25
    assert value("theorem-B.1", common | {"X.op": 5.0}, "printed") == pytest.approx(head)
    many = 4 * (2 + 8 * 2 * 8 * 5) / 100 * (1 + math.log(C_1 * 64 * 40**3 / 0.25)) + 8 + 0.25
    assert value("theorem-B.2", common | {"X.op": 5.0, "H": 8}, "printed") == pytest.approx(many)
    γ = float(γ_ML(Bounds(9.0, 8.0, 1.0, 1.0, 1.0), C_1, 8.0, 3))
    deep = 4 * (2 + 2) / 100 * (1 + math.log(γ**3 / 0.25)) + 8 + 0.25
    assert value("theorem-5.3", common | {"L": 3}, "printed") == pytest.approx(deep)


# -- definitions -----------------------------------------------------------------------------


@pytest.mark.parametrize("n, d", [(6, 3), (4, 1), (3, 5)])
def test_offset_complexity_by_enumeration(n, d):
    X, β = np.random.default_rng(0).normal(size=(n, d)), 0.7
    suprema = []
    for τ in itertools.product((-1.0, 1.0), repeat=n):
        v = np.linalg.pinv(X) @ np.array(τ) / (2 * β)  # the stationary point
        h = X @ v
        suprema.append(np.mean(np.array(τ) * h) - β * np.mean(h**2))
    inputs = {"n": n, "d": d, "beta": β}
    assert value("definition-3.1", inputs) == pytest.approx(np.mean(suprema))
    assert value("definition-3.1", inputs, "printed") == pytest.approx(np.mean(suprema))


def linear(L_σ: float) -> Activation:
    return Activation("linear", lambda x: L_σ * x, L_σ)


def with_norm(rng, shape, size):
    W = rng.normal(size=shape) * (rng.random(size=shape) < 0.7)
    return W * size / max(np.abs(W).sum(), 1e-12)


def test_the_block_multiplies_by_the_square_of_the_slope_of_sigma():
    """One token, no Π active: the output moves by L_σ²B_cB_v, past what is printed."""
    block = li_block(1, Spectral(1.0), Spectral(1.0), Spectral(1.0), sigma=linear(3.0))
    params = [{"W_QK": [[0.0]], "W_v": [[1.0]], "W_c": [[1.0]]}, {}, {}, {}]
    params[0] = {name: np.array(W) for name, W in params[0].items()}
    low, high = (block.apply(params, np.array([[x]]))[0, 0] for x in (0.01, 0.02))
    moved = (high - low) / 0.01
    inputs = {"W_QK.op": 0.0, "W_v.op": 1.0, "W_c.op": 1.0, "sigma.lipschitz": 3.0}
    assert (
        value("equation-5", inputs, "printed") < moved <= value("equation-5", inputs) * (1 + 1e-9)
    )


def test_a_long_token_besides_cls_breaks_the_printed_assumption():
    X = np.array([[4.0], [1.0]])  # [CLS] is last, of norm 1
    head = Head(1, L11(1.0), L11(1.0), W_c=L11(1.0), sigma="identity", query="cls")
    weights = {"W_QK": np.array([[9.0]]), "W_v": np.eye(1), "W_c": np.eye(1)}
    prediction = abs(float(head.apply(weights, X)[0, 0]))
    inputs = STATEMENTS["li2026/assumption-5.1"].example
    assert value("assumption-5.1", inputs, "printed") < prediction
    assert prediction <= value("assumption-5.1", inputs) * (1 + 1e-9)


# -- linear covers ---------------------------------------------------------------------------


@pytest.mark.parametrize("d, k", [(1, 1), (2, 3), (40, 50)])
def test_the_constant_of_a_linear_cover_grows_with_the_widths(d, k):
    """Any two of the 2dk matrices ±E_ij are at least 1 apart on some basis vector."""
    inputs = {"d": d, "k": k, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.499}
    for number in ("lemma-5.2", "lemma-B.3"):
        for form in ("derived", "best"):
            assert value(number, inputs, form) >= math.log(2 * d * k) - 1e-9
    assert value("lemma-B.3", inputs, "printed") >= math.log(2 * d * k)
    if d > 1:
        E = [s * np.eye(d * k)[i].reshape(d, k) for i in range(min(d * k, 12)) for s in (-1, 1)]
        apart = [np.linalg.norm(a - b, axis=1).max() for a, b in itertools.combinations(E, 2)]
        assert min(apart) >= 1 - 1e-12


def test_a_constant_of_one_is_not_enough():
    inputs = {"d": 10**6, "k": 10**6, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": 0.499}
    assert value("lemma-5.2", inputs, "printed") < math.log(2e12)


@pytest.mark.parametrize("ε", [0.9, 0.5, 0.34, 0.2, 0.11])
def test_intervals_need_as_many_centres_as_claimed(ε):
    """d = k = 1: the class is an interval of length 2, and ⌈1/ε⌉ centres are exact."""
    inputs = {"d": 1, "k": 1, "W.l11": 1.0, "X.row2inf": 1.0, "epsilon": ε}
    for number, form in itertools.product(("lemma-5.2", "lemma-B.3"), ("derived", "best")):
        assert value(number, inputs, form) >= math.log(math.ceil(1 / ε)) - 1e-9


@pytest.mark.parametrize("m", [1, 4, 30, 10**5])
def test_a_cover_of_heads_has_room_for_all_patterns(m):
    heads = QueryHeads(m)
    inputs = {"d": heads.d, "k": heads.d, "W_QK.l11": heads.B_QK, "W_v.l11": 1.0, "W_c.l11": 1.0}
    inputs |= {"w.l2": 1.0, "sigma.lipschitz": 1.0, "X.row2inf": 1.0, "epsilon": 0.7}
    for form in ("derived", "best"):
        assert value("equation-14", inputs, form) >= heads.log_count
        assert value("equation-14", inputs | {"w.l1": 1.0}, form) >= heads.log_count


def test_entropy_is_below_the_closed_form_and_not_far_below():
    """C_1(B_wB_cB_vL_σB_x)²[3 + (B_QKB_x²)^{2/3}]³/ε², softmax constant 1, w in an ℓ1 ball."""
    b, d, B_x, ε = Bounds(2.0, 1.5, 0.7, 1.2, 1.3, w_l1=1.2), 10**8, 1.1, 0.2
    entropy = Class(heads(d, d, b), d, B_x).entropy("own")
    A = b.w * b.c * b.v * b.σ * B_x
    closed = math.log(2 * d * d + 1) * A**2 * (3 + (b.QK * B_x**2) ** (2 / 3)) ** 3 / ε**2
    assert 0.3 * closed < entropy(ε) <= closed


# -- error decompositions --------------------------------------------------------------------


def draw_weights(rng, d, norms):
    shapes = {"W_QK": (d, d), "W_v": (d, d), "W_c": (d, d), "w": (d, 1)}
    return {n: with_norm(rng, shapes[n], norms[n]) for n in shapes}


def mixed(W, V, t):
    """A little of V in W: still within the norms."""
    return {name: (1 - t) * W[name] + t * V[name] for name in W}


@pytest.mark.parametrize("L_σ, B_x", [(1.0, 1.0), (0.5, 2.0), (1.7, 3.0)])
def test_a_head_moves_no_further_than_derived(L_σ, B_x):
    rng, d, worst = np.random.default_rng(1), 2, 0.0
    norms = {"W_QK": 1.0, "W_v": 0.8, "W_c": 0.9, "w": 1.1}
    head = Head(d, ONE, ONE, W_c=ONE, sigma=linear(L_σ), query="cls")
    for _ in range(300):
        W = draw_weights(rng, d, norms)
        V = mixed(W, draw_weights(rng, d, norms), rng.choice([0.05, 0.5, 1.0]))
        X = rng.normal(size=(2, d))
        X *= B_x / np.linalg.norm(X, axis=1, keepdims=True)
        hidden = Head(d, ONE, ONE, sigma=linear(L_σ), query="cls").apply(V, X)
        errors = {
            "error.QK": np.linalg.norm(X @ (W["W_QK"] - V["W_QK"]), axis=1).max(),
            "error.v": np.linalg.norm(X @ (W["W_v"] - V["W_v"]), axis=1).max(),
            "error.c": float(np.linalg.norm(hidden @ (W["W_c"] - V["W_c"]))),
            "error.w": abs(float((head.apply(V, X) @ (W["w"] - V["w"])).item())),
        }
        moved = abs((head.apply(W, X) @ W["w"] - head.apply(V, X) @ V["w"]).item())
        inputs = {"W_v.l11": 0.8, "W_c.l11": 0.9, "w.l2": 1.1, "sigma.lipschitz": L_σ}
        inputs |= {"X.row2inf": B_x, **{k: float(e) for k, e in errors.items()}}
        allowed = value("equation-15", inputs)
        assert moved <= allowed * (1 + 1e-9) + 1e-15
        worst = max(worst, moved / allowed)
    assert worst > 0.15


def test_the_decomposition_of_a_head_is_that_of_the_calculus():
    b, B_x = Bounds(QK=0.4, v=1.3, c=0.8, w=1.2, σ=1.4), 3.0
    inputs = {"W_v.l11": 1.3, "W_c.l11": 0.8, "w.l2": 1.2, "sigma.lipschitz": 1.4}
    seen = {"QK": B_x, "v": B_x, "c": 1.4 * 1.3 * B_x, "w": 0.8 * 1.4 * 1.3 * B_x}
    for use in Class(heads(2, 2, b), 2, B_x).facts.uses:
        name = use.name.replace("_", ".").rpartition(".")[2]
        errors = dict.fromkeys(("error.QK", "error.v", "error.c", "error.w"), 0.0)
        at_one = inputs | errors | {f"error.{name}": 1.0, "X.row2inf": B_x}
        sides = value("equation-15", at_one)
        assert sides == pytest.approx(float(use.weight) / seen[name])


@pytest.mark.parametrize(
    "L, L_σ, B_x", [(1, 1.0, 3.0), (2, 1.0, 1.0), (3, 1.4, 2.0), (2, 0.6, 1.0)]
)
def test_the_layers_decomposition_is_that_of_the_calculus(L, L_σ, B_x):
    """Weights on unit errors, from the facts of L blocks (5) with spectral norms."""
    B_QK, B_v, B_c, B_w = 0.4, 1.3, 0.8, 1.2
    net = layers(2, 2, Bounds(B_QK, B_v, B_c, B_w, L_σ), L)
    instance = {"W_QK.l11": B_QK, "W_v.l11": B_v, "W_c.l11": B_c, "w.l2": B_w, "X.row2inf": B_x}
    instance |= {"sigma.lipschitz": L_σ, "L": L}
    radii = [B_x]
    while len(radii) < L:
        radii.append(min(1.0, L_σ * min(1.0, L_σ * B_c * B_v * radii[-1])))
    seen = {"QK": radii, "v": radii, "c": [L_σ * B_v * R for R in radii]}
    uses = {u.name.rpartition("_")[2]: u for u in Class(net, 2, B_x).facts.uses}
    for name, inputs in seen.items():
        errors = dict.fromkeys(("error.QK", "error.v", "error.c", "error.w"), 0.0)
        weights = np.exp(np.ravel(uses[name].weight.log)) / np.array(inputs)
        sides = value("equation-18", instance | errors | {f"error.{name}": 1.0})
        assert sides == pytest.approx(weights.sum())


def test_layers_move_no_further_than_derived():
    rng, d, L, L_σ, B_x = np.random.default_rng(2), 2, 2, 1.5, 2.0
    norms = {"W_QK": 0.7, "W_v": 0.9, "W_c": 0.8, "w": 1.0}
    block = li_block(d, ONE, ONE, ONE, sigma=linear(L_σ))
    inner = Head(d, ONE, ONE, sigma=linear(L_σ))
    for _ in range(200):
        Ws = [draw_weights(rng, d, norms) for _ in range(L)]
        Vs = [mixed(W, draw_weights(rng, d, norms), rng.choice([0.05, 1.0])) for W in Ws]
        X = rng.normal(size=(3, d))
        X *= B_x / np.linalg.norm(X, axis=1, keepdims=True)
        true, covered = X, X
        errors: dict[str, float] = {f"error.{name}": 0.0 for name in ("QK", "v", "c")}
        for W, V in zip(Ws, Vs, strict=True):
            seen = {"QK": covered, "v": covered, "c": inner.apply(V, covered)}
            for name, rows in seen.items():
                e = np.linalg.norm(rows @ (W[f"W_{name}"] - V[f"W_{name}"]), axis=1).max()
                errors[f"error.{name}"] = max(errors[f"error.{name}"], float(e))
            true, covered = (
                block.apply([W, {}, {}, {}], true),
                block.apply([V, {}, {}, {}], covered),
            )
        w, u = Ws[-1]["w"], Vs[-1]["w"]
        errors["error.w"] = abs((covered[-1] @ (w - u)).item())
        inputs = {"W_QK.l11": 0.7, "W_v.l11": 0.9, "W_c.l11": 0.8, "w.l2": 1.0, "L": L}
        inputs |= {"sigma.lipschitz": L_σ, "X.row2inf": B_x, **errors}
        moved = abs((true[-1] @ w - covered[-1] @ u).item())
        assert moved <= value("equation-18", inputs) * (1 + 1e-9) + 1e-15


def test_the_printed_layers_hold_for_one_sigma_and_unit_tokens():
    """For L_σ ≤ 1 and tokens in the unit ball derived is at most printed (both blocks agree)."""
    inputs = {"W_QK.l11": 0.5, "W_v.l11": 1.0, "W_c.l11": 1.0, "w.l2": 1.0, "sigma.lipschitz": 1.0}
    inputs |= {"L": 4, "error.QK": 0.1, "error.v": 0.2, "error.c": 0.3, "error.w": 0.4}
    printed = 0.4 + (1 + 3 + 9 + 27) * (0.3 + 0.2 + 0.2)
    assert value("equation-18", inputs, "printed") == pytest.approx(printed)
    assert value("equation-18", inputs) == pytest.approx(0.4 + (1 + 2 + 4 + 8) * (0.3 + 0.2 + 0.1))


# -- excess risks ----------------------------------------------------------------------------


@pytest.mark.parametrize("id", THEOREMS)
@pytest.mark.parametrize("form", ["derived", "best"])
def test_more_examples_help_and_larger_norms_do_not(id, form):
    s = STATEMENTS[id]
    base = {**s.example, "n": 1e9, "d": 64, "k": 64}

    def total(**changes) -> float:
        inputs = base | {k.replace("__", "."): v for k, v in changes.items()}
        return sum(term.value for term in s.evaluate_on(inputs, form).terms)

    now = total()
    assert total(n=4e9) < now < total(n=2.5e8)
    for name in ("W_QK__l11", "W_v__l11", "W_c__l11", "w__l2", "X__row2inf"):
        grown = {"X__op": 2.0} if name == "X__row2inf" and "X.op" in base else {}
        assert total(**{name: 2.0}, **grown) > now * 1.0001
    assert total(**{"class__approximation": 0.1}) >= now + 0.0999
    assert total(**{"sigma__lipschitz": 2.0}) > now
    assert total(d=128, k=128) > now


@pytest.mark.parametrize("id", THEOREMS)
def test_without_knowledge_of_the_noise_the_rate_is_slow(id):
    s = STATEMENTS[id]
    inputs = {**s.example, "n": 1e10, "noise.free": 0}
    slow = s.evaluate_on(inputs)
    assert any(a.name == "rate" for a in slow.assumptions)
    assert slow.value > s.evaluate_on(inputs, "best").value


def test_one_head_is_a_sum_of_one_head():
    single = dict(STATEMENTS["li2026/theorem-B.1"].example)
    for form in ("printed", "derived", "best"):
        many = value("theorem-B.2", single | {"H": 1}, form)
        assert many == pytest.approx(value("theorem-B.1", single, form))


def test_derived_is_the_one_scale_bound_of_the_class():
    """4M·log N(δ)/n + 8κδ on a fine grid of δ, entropies from the network itself."""
    s = STATEMENTS["li2026/theorem-B.1"]
    inputs = {**s.example, "n": 1e9, "d": 64, "k": 64, "W_QK.l11": 3.0}
    net = Head(64, L11(1.0), L11(3.0), W_c=L11(1.0), sigma="identity", query="cls")
    whole = Class(net >> Readout(L2(1.0)), 64, 1.0)
    δ = np.exp(-np.linspace(0, 20, 4000))
    log_N = np.exp(whole.entropy("own").log_log(np.log(δ), math.log(1e9)))
    assert abs(whole.A - 1.0) < 1e-9
    assert s.evaluate_on(inputs).value == pytest.approx((8 * log_N / 1e9 + 8 * δ).min(), rel=0.02)


def test_a_known_l1_norm_of_w_helps():
    inputs = {**STATEMENTS["li2026/theorem-B.1"].example, "n": 1e9}
    assert value("theorem-B.1", inputs | {"w.l1": 1.0}) < value("theorem-B.1", inputs)


def test_no_token_is_longer_than_the_whole_input():
    inputs = {**STATEMENTS["li2026/theorem-B.1"].example, "n": 1e9, "X.row2inf": 5.0}
    short = value("theorem-B.1", inputs | {"X.row2inf": 1.0})
    assert value("theorem-B.1", inputs | {"X.op": 1.0}) == pytest.approx(short)


def test_nothing_to_lose_costs_nothing():
    for id in THEOREMS:
        s = STATEMENTS[id]
        for form in s.forms:
            assert s.evaluate_on({**s.example, "kappa": 0.0}, form).value == 0.0
    task = excess.ExcessTask(10, 0.0, 1.0, 1.0)
    assert excess.nothing(PowerLaw(1.0), task)

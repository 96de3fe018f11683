"""trauger2024, many layers and the losses: closed forms, random blocks, attained constants."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dudley.calculus.allocate import Allocated, WeightBlock
from dudley.core.constraint import Spectral
from dudley.core.entropy import PowerLaw
from dudley.core.magnitude import Magnitude
from dudley.networks.activations import Activation
from dudley.networks.blocks import trauger_block
from dudley.networks.normalisers import normaliser
from dudley.theorems.registry import load
from dudley.theorems.trauger2024.block import block_with_two_activations

STATEMENTS = {i: s for i, s in load().items() if s.paper == "trauger2024"}


def value(id: str, inputs: dict, form: str = "derived") -> float:
    return STATEMENTS[f"trauger2024/{id}"].evaluate_on(inputs, form).value


def example(id: str, **changes) -> dict:
    renamed = {name.replace("__", "."): v for name, v in changes.items()}
    return dict(STATEMENTS[f"trauger2024/{id}"].example) | renamed


# -- section 4, many layers ----------------------------------------------------------------------


def closed_theorem_4_2(L, B_QK, B_v, B_c, B_w, L_σ, B_x, C_1, C_in, ε) -> float:
    """The repaired form with softmax constant 1, hidden rows of norm exactly 1."""
    step = L_σ * B_c * B_v * (1 + 2 * B_QK)
    G = C_1 ** (1 / 3)
    for i in range(1, L + 1):
        α, R, C = step ** (L - i), B_x if i == 1 else 1.0, C_in if i == 1 else C_1
        weights = (L_σ, L_σ * B_c, L_σ * B_c * B_v * R**2)
        for C_block, weight in zip((C_1, C, C), weights, strict=True):
            G += C_block ** (1 / 3) * (B_w * α * weight) ** (2 / 3)
    return G**3 / ε**2


@pytest.mark.parametrize("L", [1, 2, 5])
@pytest.mark.parametrize("B_x", [0.5, 1.0, 4.0])
def test_theorem_4_2_is_below_its_closed_form(L, B_x):
    norms = (0.7, 2.0, 1.5, 3.0, 1.2)
    inputs = example("theorem-4.2", L=L, X__row2inf=B_x, class__C=9.0, class__C_input=9.0 * B_x**2)
    names = ("W_QK.op", "W_v.op", "W_c.op", "w.l2", "sigma.lipschitz")
    inputs |= dict(zip(names, norms, strict=True))
    closed = closed_theorem_4_2(L, *norms, B_x, 9.0, 9.0 * B_x**2, 0.5)
    assert value("theorem-4.2", inputs) == pytest.approx(closed)  # 2·B_x ≥ 1: no radius is below 1
    assert value("theorem-4.2", inputs | {"W_v.op": 0.1}) <= closed_theorem_4_2(
        L, 0.7, 0.1, *norms[2:], B_x, 9.0, 9.0 * B_x**2, 0.5
    ) * (1 + 1e-9)


def test_theorem_4_2_takes_one_C_per_matrix():
    """(Σ C_m^{1/3} β_m^{2/3})³/ε² of the four matrices of one block, each with its own C."""
    B_w, L_σ, B_c, B_v = 3.0, 1.2, 1.5, 2.0
    inputs = example("theorem-4.2", L=1, W_v__op=B_v, W_c__op=B_c, w__l2=B_w, X__row2inf=1.0)
    inputs |= {"sigma.lipschitz": L_σ, "class.C": 9.0, "class.C_input": 9.0}
    weights = dict(w=1.0, c=B_w * L_σ, v=B_w * L_σ * B_c, QK=B_w * L_σ * B_c * B_v)

    def closed(C):
        return sum(C[m] ** (1 / 3) * weights[m] ** (2 / 3) for m in C) ** 3 / 0.5**2

    for C in (dict(w=0.0, c=0.0, v=0.3, QK=0.0), dict(w=1.0, c=2.0, v=3.0, QK=4.0)):
        each = {f"class.C_{m}": C[m] for m in C}
        assert value("theorem-4.2", inputs | each) == pytest.approx(closed(C))
        larger = each | {"class.C_v": 100.0}  # than C_1, which serves as well
        assert value("theorem-4.2", inputs | larger) == pytest.approx(closed(C | {"v": 9.0}))
    alike = {f"class.C_{m}": 9.0 for m in weights}
    assert value("theorem-4.2", inputs | alike) == value("theorem-4.2", inputs)


def test_theorem_4_2_grows_with_the_sixth_power_of_the_tokens():
    values = []
    for B_x in (1e3, 1e4):
        inputs = example("theorem-4.2", X__row2inf=B_x, class__C_input=9.0 * B_x**2)
        values.append(math.log(value("theorem-4.2", inputs)))
    assert (values[1] - values[0]) / math.log(10) == pytest.approx(6, abs=0.05)


@pytest.mark.parametrize("ε", [0.9, 0.5, 0.05])
def test_corollary_4_2_1_is_below_theorem_4_2_with_lemma_3_6(ε):
    corollary = example("corollary-4.2.1", epsilon=ε)
    C = math.log(2 * 64 * 64 + 1)
    theorem = example("theorem-4.2", epsilon=ε, class__C=C, class__C_input=16 * C)
    closed = value("theorem-4.2", theorem)
    assert value("corollary-4.2.1", corollary) <= closed  # exact counts, radii cut at 1
    assert closed <= 100 * value("corollary-4.2.1", corollary) or ε < 0.1


@pytest.mark.parametrize("form", ["printed", "derived"])
def test_ninety_six_layers_do_not_overflow(form):
    norms = {f"{W}.op": 50.0 for W in ("W_QK", "W_v", "W_c")}
    deep = {"L": 96} | norms
    by_weights = STATEMENTS["trauger2024/theorem-4.2"].evaluate_on(
        example("theorem-4.2") | deep, form
    )
    assert 1000 < by_weights.log_value < 1e5 and by_weights.value == math.inf
    inputs = example("corollary-4.2.1", W__l11=1e6) | deep
    by_covers = STATEMENTS["trauger2024/corollary-4.2.1"].evaluate_on(inputs, form)
    assert 0 < by_covers.log_value < 1e5  # the exact count saturates: dimension times a logarithm


def test_random_blocks_stay_within_lemma_e_2_repaired():
    """Random changes of all weights and of the input, σ acting twice, rows longer than 1."""
    rng = np.random.default_rng(11)
    soft = Activation("2tanh", lambda x: 2 * np.tanh(x), 2.0)
    block = block_with_two_activations(3, *(Spectral(1.0),) * 3, sigma=soft)
    worst = 0.0
    for _ in range(200):
        R, size = rng.choice([0.5, 1.0, 3.0]), rng.choice([0.01, 0.3])
        names = ("W_QK", "W_v", "W_c")
        W = {name: 0.5 * rng.normal(size=(3, 3)) for name in names}
        V = {name: a + size * rng.normal(size=(3, 3)) * rng.choice([0, 1]) for name, a in W.items()}
        Z = rng.normal(size=(2, 3, 3))
        Z *= R / np.maximum(np.linalg.norm(Z, axis=-1, keepdims=True), 1e-9)
        Z[1] = Z[0] if rng.random() < 0.5 else Z[1]
        pack = lambda w: [{"W_QK": w["W_QK"], "W_v": w["W_v"]}, {}, {}, {"W_c": w["W_c"]}, {}]  # noqa: E731
        rows = lambda a: float(np.linalg.norm(a, axis=-1).max())  # noqa: E731
        params, hidden = (pack(W), pack(V)), Z[1]
        for node, parameters in zip(block.nodes[:3], params[1][:3], strict=True):
            hidden = node.apply(parameters, hidden)
        moved = rows(block.apply(params[0], Z[0]) - block.apply(params[1], Z[1]))
        inputs = {f"{n}.op": float(np.linalg.norm(W[n], 2)) for n in names}
        inputs |= {"sigma.lipschitz": 2.0, "X.row2inf": float(R), "error.rows": rows(Z[0] - Z[1])}
        inputs |= {
            "error.QK": rows(Z[1] @ (W["W_QK"] - V["W_QK"])),
            "error.v": rows(Z[1] @ (W["W_v"] - V["W_v"])),
            "error.c": rows(hidden @ (W["W_c"] - V["W_c"])),
        }
        worst = max(worst, moved / max(value("lemma-E.2", inputs), 1e-300))
    assert 0.05 < worst <= 1 + 1e-12


def test_hidden_rows_have_an_l1_norm_of_root_d():
    """Why Lemmas 3.3 and 3.4 do not apply behind Π: the projection leaves 1/√d·(1, …, 1) alone."""
    d = 64
    block = trauger_block(d, *(Spectral(1.0),) * 3, sigma="identity")
    flat = np.full((1, d), 1 / math.sqrt(d))
    identity = [{"W_QK": np.zeros((d, d)), "W_v": np.eye(d)}, {}, {}, {"W_c": np.eye(d)}, {}]
    assert np.abs(block.apply(identity, flat)).sum() == pytest.approx(math.sqrt(d))


# -- section 5 and the appendix ------------------------------------------------------------------


def test_softmax_moves_by_no_more_than_the_best_form_and_nearly_so():
    rng, worst, softmax = np.random.default_rng(2), 0.0, normaliser("softmax").apply
    for _ in range(2000):
        p = int(rng.integers(2, 6))
        a, h = 2 * rng.normal(size=p), rng.choice([-1, 1], size=p) * rng.uniform(0.01, 3)
        moved = float(np.abs(softmax(a + h) - softmax(a)).sum())
        error = float(np.abs(h).max())
        assert moved <= value("lemma-C.1", {"error.score": error}, "best") * (1 + 1e-9)
        worst = max(worst, moved / value("lemma-C.1", {"error.score": error}))
    assert 0.9 < worst <= 1


def test_cross_entropy_moves_by_up_to_twice_the_largest_logit():
    rng, worst = np.random.default_rng(4), 0.0
    loss = lambda x: float(np.log(np.exp(x).sum()) - x[0])  # noqa: E731
    for _ in range(2000):
        x = rng.normal(size=4) * 3 - np.array([8, 0, 0, 0])
        h = rng.choice([-1, 1], size=4) * 0.01
        moved = abs(loss(x + h) - loss(x))
        assert moved <= value("appendix-G", {"error.logits": 0.01}) * (1 + 1e-9)
        worst = max(worst, moved / 0.01)
    assert worst > 1.99


def test_the_loss_class_is_below_the_trivial_bound_and_falls_with_n():
    values = [value("theorem-5.1", example("theorem-5.1", n=n)) for n in (1e4, 1e8, 1e12)]
    assert values[0] > values[1] > values[2] > 0
    few, many = (value("theorem-5.1", example("theorem-5.1", V=V)) for V in (10, 1000))
    assert few < many <= math.sqrt(100) * few * 3


def test_the_split_of_lemma_e_1_is_the_numeric_optimum():
    inputs = example("lemma-E.1")
    C, β, ε = (1.0, 8.0), (1.0, 2.0), 0.5
    first = np.linspace(1e-3, ε / β[0] - 1e-3, 20_001)
    numeric = (C[0] / first**2 + C[1] / ((ε - β[0] * first) / β[1]) ** 2).min()
    assert value("lemma-E.1", inputs) == pytest.approx(numeric, rel=1e-5)
    blocks = [WeightBlock(str(c), PowerLaw(c), Magnitude.of(b)) for c, b in zip(C, β, strict=True)]
    general = Allocated(tuple(blocks))(ε)
    assert value("lemma-E.1", inputs) * (1 - 1e-9) <= general <= 1.02 * value("lemma-E.1", inputs)


def test_lemma_e_3_is_attained():
    w, dy = np.array([3.0, 4.0]), np.array([0.03, 0.04])
    moved = abs(w @ dy)
    assert moved == pytest.approx(
        value("lemma-E.3", {"w.l2": 5, "error.output": 0.05, "error.w": 0})
    )

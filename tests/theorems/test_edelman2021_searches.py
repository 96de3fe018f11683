"""edelman2021: searches on the networks against its lemmas, and the proofs that need a repair."""

import math

import numpy as np
import pytest
import torch

from dudley.audit.backend import tensor
from dudley.audit.balls import clip_rows, rows
from dudley.audit.climb import climb
from dudley.classes.linear import LinearMap
from dudley.core.constraint import Col2Inf, Spectral
from dudley.core.entropy import PowerLaw
from dudley.core.norms import NORMS
from dudley.networks.blocks import trauger_block
from dudley.networks.general import GeneralHead
from dudley.networks.head import Head
from dudley.networks.outputs import Readout
from dudley.networks.pointwise import ProjectRows
from dudley.theorems.edelman2021.deep import LayerBounds, printed as printed_deep
from dudley.theorems.registry import load

torch.set_num_threads(1)
STATEMENTS = load()


def value(id, inputs, form="derived") -> float:
    return STATEMENTS[f"edelman2021/{id}"].evaluate_on(inputs, form).value


# -- searches on the networks themselves -----------------------------------------------------------

B, T, D = 48, 3, 3  # restarts, rows, width


def start(seed, *shape):
    """Random and extreme starts: dense, rank one, sparse."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(B, *shape))
    X[::3] = rng.normal(size=(len(X[::3]), shape[0], 1)) * rng.normal(
        size=(len(X[::3]), 1, shape[1])
    )
    X[1::6] *= rng.random(X[1::6].shape) < 0.4
    return tensor(X + 0.01 * rng.normal(size=X.shape)).requires_grad_()


def scaled(W, size):
    """Rescaled to this spectral norm."""
    return W * (size / (NORMS["op"].batch(W) + 1e-300))[:, None, None]


def on_the_ball(X, R):
    return clip_rows(X * 10, torch.full((B,), R, dtype=X.dtype)) if R else X


def worst(ratio, variables, steps=150):
    """The largest ratio that gradient ascent finds."""
    climb(ratio, variables, steps, 0.06)
    with torch.no_grad():
        largest = ratio()
    return float(largest[torch.isfinite(largest)].max())


def column_error(ΔW, X):
    """max_t ‖ΔW x_tᵀ‖."""
    return rows(X @ ΔW.transpose(-1, -2))


@pytest.mark.parametrize("R", [0.5, 1.0, 2.0])
def test_lemma_A_13_by_search(R):
    b = 1.7
    norms = {"W_v.op": b, "X.row2inf": R, "error.QK": 0.0, "error.v": 0.0}
    per_QK, per_v = (value("lemma-A.13", norms | {f"error.{n}": 1.0}, "best") for n in ("QK", "v"))
    W, V, X = start(0, D, D), start(1, D, D), start(2, T, D)
    E, F = start(3, D, D), start(4, D, D)
    sizes = tensor(np.resize([1e-3, 0.1, 1.0], B))[:, None, None]
    head = Head(D, Spectral(b), Spectral(1.0), sigma="identity")

    def ratio():
        Z, true = on_the_ball(X, R), scaled(V, b)
        hat_W, hat_V = W + sizes * E, true + sizes * F
        Y = head.apply({"W_QK": W, "W_v": true}, Z)
        hat_Y = head.apply({"W_QK": hat_W, "W_v": hat_V}, Z)
        bound = per_QK * column_error(hat_W - W, Z) + per_v * rows(Z @ (hat_V - true))
        return rows(Y - hat_Y) / (bound + 1e-9)

    largest = worst(ratio, [W, V, X, E, F])
    assert 0.6 < largest <= 1 + 1e-6
    printed = value("lemma-A.13", norms | {"error.QK": 1.0}, "printed")
    assert (printed < per_QK) == (math.sqrt(2) < R)  # as printed, for rows of norm ≤ 1 only


def test_lemma_A_13_fails_beyond_the_unit_ball():
    """Without R² the printed right-hand side is exceeded: two opposite rows of norm 2."""
    R, t = 2.0, 1e-4
    head = Head(2, Spectral(1.0), Spectral(1.0), sigma="identity")
    Z, identity = R * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]), np.eye(2)
    hat = np.array([[0.0, 0.0], [t, 0.0]])  # the query (0, R) starts to prefer the first row
    moved = head.apply({"W_QK": 0 * identity, "W_v": identity}, Z) - head.apply(
        {"W_QK": hat, "W_v": identity}, Z
    )
    inputs = {"W_v.op": 1.0, "X.row2inf": R, "error.v": 0.0}
    inputs["error.QK"] = float(np.linalg.norm(hat @ Z.T, axis=0).max())
    change = np.linalg.norm(moved, axis=1).max()
    assert value("lemma-A.13", inputs, "printed") < change <= value("lemma-A.13", inputs, "best")


@pytest.mark.parametrize("R, b_QK", [(1.0, 0.3), (1.0, 2.0), (2.0, 0.5)])
def test_lemma_A_14_by_search(R, b_QK):
    b = 1.3
    inputs = {"W_v.op": b, "W_QK.op": b_QK, "X.row2inf": R, "error.rows": 1.0}
    per_row = value("lemma-A.14", inputs, "best")
    assert per_row <= value("lemma-A.14", inputs)
    W, V, X, E = start(10, D, D), start(11, D, D), start(12, T, D), start(13, T, D)
    sizes = tensor(np.resize([1e-3, 0.1, 1.0], B))[:, None, None]
    head = Head(D, Spectral(b), Spectral(b_QK), sigma="identity")

    def ratio():
        params = {"W_QK": scaled(W, b_QK), "W_v": scaled(V, b)}
        Z = on_the_ball(X, R)
        hat = clip_rows(Z + sizes * E, torch.full((B,), R, dtype=Z.dtype))
        return rows(head.apply(params, Z) - head.apply(params, hat)) / (
            per_row * rows(Z - hat) + 1e-9
        )

    assert 0.5 < worst(ratio, [W, V, X, E]) <= 1 + 1e-6


@pytest.mark.parametrize("R", [1.0, 2.0])
def test_lemma_A_15_by_search(R):
    b = {"W_QK": 0.7, "W_v": 1.2, "W_c": 1.4}
    inputs = {"sigma.lipschitz": 1.0, "X.row2inf": R} | {f"{n}.op": v for n, v in b.items()}
    errors = ("c", "rows", "QK", "v")
    none = inputs | {f"error.{n}": 0.0 for n in errors}
    per = {n: value("lemma-A.15", none | {f"error.{n}": 1.0}, "best") for n in errors}
    block = trauger_block(D, *(Spectral(b[n]) for n in ("W_QK", "W_v", "W_c")), sigma="relu")
    W, E = ({n: start(20 + 3 * i + j, D, D) for j, n in enumerate(b)} for i in (0, 1))
    X, F = start(30, T, D), start(31, T, D)
    sizes = tensor(np.resize([1e-3, 0.1, 1.0], B))[:, None, None]

    def nest(p):
        return [{"W_QK": p["W_QK"], "W_v": p["W_v"]}, {}, {}, {"W_c": p["W_c"]}, {}]

    def ratio():
        true = {n: scaled(w, b[n]) for n, w in W.items()}
        hat = {n: w + sizes * E[n] for n, w in true.items()}  # free: only true norms enter
        Z = on_the_ball(X, R)
        hat_Z = clip_rows(Z + sizes * F, torch.full((B,), R, dtype=Z.dtype))
        hidden = hat_Z
        for node, weights in zip(block.nodes[:3], nest(hat)[:3], strict=True):
            hidden = node.apply(weights, hidden)
        bound = per["c"] * rows(hidden @ (hat["W_c"] - true["W_c"]))
        bound = bound + per["rows"] * rows(Z - hat_Z)
        bound = bound + per["QK"] * column_error(hat["W_QK"] - true["W_QK"], hat_Z)
        bound = bound + per["v"] * rows(hat_Z @ (hat["W_v"] - true["W_v"]))
        change = block.apply(nest(true), Z) - block.apply(nest(hat), hat_Z)
        return rows(change) / (bound + 1e-9)

    variables = [*W.values(), *E.values(), X, F]
    assert 0.5 < worst(ratio, variables) <= 1 + 1e-6
    printed = value("lemma-A.15", none | {"error.QK": 1.0}, "printed")
    assert (printed < per["QK"]) == (math.sqrt(2) < R)


def test_lemma_A_16_by_search():
    rng = np.random.default_rng(40)
    w, hat_w = rng.normal(size=(2, 1000, D, 1))
    y = rng.normal(size=(1000, 1, D))
    hat_y = y + rng.normal(size=y.shape) * 10 ** rng.uniform(-3, 0, (1000, 1, 1))
    net = Readout(Spectral(1.0))
    change = np.abs(net.apply({"w": w}, y) - net.apply({"w": hat_w}, hat_y)).ravel()
    for i in range(1000):
        inputs = {"w.l2": float(np.linalg.norm(w[i]))}
        inputs["error.rows"] = float(np.linalg.norm(y[i] - hat_y[i]))
        inputs["error.w"] = float(np.abs(hat_y[i] @ (w[i] - hat_w[i]))[0, 0])
        assert change[i] <= value("lemma-A.16", inputs) * (1 + 1e-12)


def test_lemma_4_3_by_search():
    """A head with tanh outside, relu inside: scores bilinear, both maps trained."""
    L_out, B_in, R = 1.0, 1.5, 1.2
    inputs = {"head.L_out": L_out, "head.B_in": B_in, "X.row2inf": R, "attention.lipschitz": 1.0}
    none = inputs | {"error.score": 0.0, "error.inner": 0.0}
    per_score, per_inner = (
        value("lemma-4.3", none | {f"error.{n}": 1.0}) for n in ("score", "inner")
    )

    def softmax(s):
        return torch.softmax(s, dim=-2)

    functions = (
        lambda p, x, z: x @ p["S"] @ z.transpose(-1, -2),
        softmax,
        lambda p, x: torch.relu(x @ p["V"]),
        lambda p, y: torch.tanh(y),
    )
    head = GeneralHead(PowerLaw(1), PowerLaw(1), 1.0, L_out, B_in, functions=functions)
    shapes = [(D, D), (D, D), (T, D), (D, D), (D, D)]
    S, V, X, E, F = (start(50 + i, *shape) for i, shape in enumerate(shapes))
    sizes = tensor(np.resize([1e-3, 0.1, 1.0], B))[:, None, None]

    def ratio():
        Z, true = on_the_ball(X, R), {"S": S, "V": scaled(V, B_in)}
        hat = {"S": S + sizes * E, "V": true["V"] + sizes * F}
        z = Z[..., -1:, :]
        score = (functions[0](true, Z, z) - functions[0](hat, Z, z)).abs().amax((-2, -1))
        inner = rows(functions[2](true, Z) - functions[2](hat, Z))
        bound = per_score * score + per_inner * inner
        return rows(head.apply(true, Z) - head.apply(hat, Z)) / (bound + 1e-9)

    assert 0.5 < worst(ratio, [S, V, X, E, F]) <= 1 + 1e-6


def test_softmax_constants():
    rng = np.random.default_rng(60)
    largest = 0.0
    for _ in range(3000):
        p = int(rng.integers(2, 8))
        a = rng.normal(size=p) * rng.uniform(0, 3)
        h = rng.choice([-1.0, 1.0], size=p) * 10 ** rng.uniform(-3, 0.7)
        change = np.abs(softmax_of(a) - softmax_of(a + h)).sum()
        inputs = {"error.score": float(np.abs(h).max())}
        assert change <= value("corollary-A.7", inputs, "best") * (1 + 1e-9) + 1e-15
        largest = max(largest, change / value("corollary-A.7", inputs, "printed"))
    assert largest < 0.5 + 1e-9
    e = 0.3  # the sharp form is attained: two equal scores moved apart
    change = np.abs(softmax_of(np.array([e, -e]) / 2) - softmax_of(np.array([-e, e]) / 2)).sum()
    assert change == pytest.approx(value("corollary-A.7", {"error.score": e}, "best"))
    flat = np.full(1000, 1e-3)  # ‖J‖_{1,1} does tend to 2
    assert 1.99 < np.abs(np.diag(flat) - np.outer(flat, flat)).sum() < 2
    inputs = {"attention.lipschitz": 2.0, "error.score": 0.1}
    assert value("lemma-A.6", inputs) == value("corollary-A.7", {"error.score": 0.1})


def softmax_of(x):
    e = np.exp(x - x.max())
    return e / e.sum()


# -- proofs that need a repair ---------------------------------------------------------------------


def test_projection_is_a_contraction_and_its_printed_step_is_not():
    rng = np.random.default_rng(70)
    u, v = rng.normal(size=(2, 5000, 3)) * 10 ** rng.uniform(-1, 1, (2, 5000, 1))
    Π = ProjectRows().apply
    apart = np.linalg.norm(u - v, axis=1)
    moved = np.linalg.norm(Π({}, u) - Π({}, v), axis=1)
    assert (moved <= apart * (1 + 1e-12)).all() and (moved / apart).max() > 0.999
    assert value("lemma-A.9", {"error.rows": 0.3}) == 0.3
    u, v = np.array([1.05, 0.0]), np.array([-0.9, 0.0])
    α = v[0] / u[0]
    left = (1 / 1.05 - α) ** 2 * 1.05**2
    assert (1 - α**2) * 1.05**2 < left <= (1 - α) ** 2 * 1.05**2


def test_the_tuples_of_lemma_4_5_are_not_enough():
    """Columns of full norm: Σk_i = d₂², outside the set, and the error is ε√((1+d₂)/2)."""
    d2, B_inf = 5, 1.0
    k = np.floor(d2 * np.full(d2, B_inf) / B_inf)
    assert k.sum() == d2**2 > d2
    assert math.sqrt((d2 + k.sum()) / (2 * d2)) == pytest.approx(math.sqrt((1 + d2) / 2))


def test_lemma_4_5_needs_the_transpose():
    """x ↦ Wx with one column is a ball of R^{d₁}: d₁ log 2 nats at half its radius."""
    for d1 in (100, 1000, 10_000):
        inputs = {"d": 1, "k": 1, "n": 2, "W.col2inf": 1.0, "X.row2inf": 1.0, "epsilon": 0.5}
        assert value("lemma-4.5", inputs, "printed") < d1 * math.log(2)
        turned = LinearMap((1, d1), Col2Inf(1.0) & Spectral(1.0)).entropy()(0.5, 2)
        assert turned >= d1 * math.log(2)


def test_errors_pass_through_the_layers_behind_them():
    """Two layers, the second amplifying: the proof's Σα_iε_i with α_i = ∏_{j<i} is exceeded."""
    quiet, loud = Spectral(1e-3), Spectral(50.0)
    first = trauger_block(2, Spectral(0.0), Spectral(1.0), quiet, sigma="identity")
    second = trauger_block(2, Spectral(0.0), Spectral(1.0), loud, sigma="identity")
    X, identity, zero = np.array([[0.5, 0.0]]), np.eye(2), np.zeros((2, 2))

    def run(c):
        p = [{"W_QK": zero, "W_v": identity}, {}, {}, {"W_c": c * identity}, {}]
        q = [{"W_QK": zero, "W_v": identity}, {}, {}, {"W_c": 50 * identity}, {}]
        return second.apply(q, first.apply(p, X))

    change, error_c = np.linalg.norm(run(1e-3) - run(5e-4)), 5e-4 * 0.5
    assert error_c * 1.0 < change <= error_c * 50 * (1 + 1e-9)  # ∏_{j<1} = 1, ∏_{j>1} = 50
    small = LayerBounds(0, 0, 1, 1, 1e-3, 1e-3)
    large = LayerBounds(0, 0, 1, 1, 50, 50)
    one_way, other = (
        printed_deep(layers, 2, 2, 10, 10, 1.0, 1.0, 0.1, 1.0).value
        for layers in ((small, large), (large, small))
    )
    assert one_way != pytest.approx(other, rel=0.1)  # the order matters

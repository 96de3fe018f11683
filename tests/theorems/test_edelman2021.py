"""edelman2021: the calculus against closed forms, growth in T, and what all statements keep."""

import itertools
import math

import numpy as np
import pytest

from dudley.calculus import chain
from dudley.classes.linear import LinearMap
from dudley.core.constraint import Col2Inf, Spectral
from dudley.networks.capacity import capacity
from dudley.networks.embeddings import Tokens
from dudley.networks.general import GeneralHead
from dudley.networks.head import Head
from dudley.theorems.registry import load
from each import each

OURS = {
    id: s
    for id, s in load().items()
    if s.paper == "edelman2021" and "-B." not in id and "4.7" not in id
}
DEEP = ("edelman2021/theorem-A.17", "edelman2021/theorem-4.6")
HEADS = ("edelman2021/corollary-4.4", "edelman2021/lemma-A.11", "edelman2021/lemma-A.12")
SIZES = {"n": (1, 10**6), "T": (1, 10**5), "d": (1, 64), "k": (1, 64), "H": (1, 16), "L": (1, 8)}


def value(id, inputs, form="derived") -> float:
    return OURS[f"edelman2021/{id}"].evaluate_on(inputs, form).value


def log_value(id, inputs, form="derived") -> float:
    return OURS[id].evaluate_on(inputs, form).log_value


def drawn(statement, rng) -> dict[str, float]:
    """Random inputs of a statement: sizes, δ, and numbers over several decades."""
    inputs = {}
    for i in statement.inputs:
        if i.name in SIZES:
            low, high = SIZES[i.name]
            inputs[i.name] = float(round(math.exp(rng.uniform(math.log(low), math.log(high)))))
        elif i.name == "delta":
            inputs[i.name] = float(rng.uniform(0.001, 0.999))
        elif i.default != math.inf or rng.random() < 0.5:
            inputs[i.name] = float(10 ** rng.uniform(-2, 1.5))
    return inputs


# -- what must hold of all of them ---------------------------------------------------------------


@each("id", [id for id, s in OURS.items() if s.best is not None])
def test_best_is_never_above_derived(id):
    rng, s = np.random.default_rng(0), OURS[id]
    for _ in range(15):
        inputs = drawn(s, rng)
        best, derived = (s.evaluate_on(inputs, form) for form in ("best", "derived"))
        assert best.log_value <= derived.log_value + 1e-9, inputs


@each("id", OURS)
def test_no_form_is_silently_negative_or_undefined(id):
    rng, s = np.random.default_rng(1), OURS[id]
    for _ in range(15):
        inputs = drawn(s, rng)
        for form in ("printed", "derived", "best"):
            if getattr(s, form) is None:
                continue
            bound = s.evaluate_on(inputs, form)
            assert not math.isnan(bound.value) and not math.isnan(bound.log_value)
            if bound.value < 0:
                assert form == "printed" and bound.vacuous
                assert bound.to_json()["negative"] and "negative" in str(bound)


@each("id", OURS)
def test_zeros_are_answered(id):
    s = OURS[id]
    for i in s.inputs:
        if i.name in SIZES or i.name in ("delta", "epsilon"):
            continue
        for form in ("printed", "derived", "best"):
            if getattr(s, form) is not None:
                bound = s.evaluate_on({**s.example, i.name: 0.0}, form)
                assert not math.isnan(bound.value), (i.name, form)


def test_the_papers_letters_are_understood():
    inputs = {"m": 4, "C_F": 400.0, "A": 1.0}
    assert value("corollary-A.3", inputs, "printed") < 0
    assert value("corollary-A.3", inputs) == 1.0


def test_verdicts():
    false = {id.partition("/")[2] for id, s in OURS.items() if s.verdict.is_false}
    heads = {"corollary-4.4", "lemma-A.11", "lemma-A.12"}
    assert false == {"corollary-A.3", "lemma-2.2", "theorem-A.4", "theorem-A.17"} | heads


# -- growth in the number of tokens ----------------------------------------------------------------


@pytest.mark.parametrize("id", [*HEADS, *DEEP])
def test_their_own_cover_grows_like_log_T(id):
    s = OURS[id]
    T = np.array([20, 60, 200, 1000, 10**4, 10**5, 10**6])
    values = np.array([s.evaluate_on({**s.example, "T": float(t)}).value for t in T])
    assert (np.diff(values) > 0).all()
    slope, start = np.polyfit(np.log(T), values, 1)
    assert slope > 0
    np.testing.assert_allclose(start + slope * np.log(T), values, rtol=5e-3)
    best = [s.evaluate_on({**s.example, "T": float(t)}, "best").value for t in T]
    assert (best <= values).all()


@pytest.mark.parametrize("id", HEADS)
def test_at_one_query_nothing_grows_with_T(id):
    s = OURS[id]
    few, many = (s.evaluate_on({**s.example, "T": T}, "best").value for T in (20.0, 1e6))
    assert few == many


# -- closed forms are tests of the calculus --------------------------------------------------------


def logarithm(columns, B, ε, points):
    """Λ of Lemma 4.5: log(2⌈4√columns·B/ε + 2⌉N + 1), with a ceiling that is rounded up."""
    return math.log(2 * (4 * math.sqrt(columns) * B / ε + 3) * points + 1)


def repaired(blocks, ε, points):
    """36 γ³Λ/ε² of blocks (columns, norm on unit inputs, weight), split by Lemma A.8."""
    γ = sum((columns * B * weight) ** (2 / 3) for columns, B, weight in blocks)
    Λ = 0.0
    for columns, B, weight in blocks:
        if B * weight > 0:
            share = ε / γ * (columns * B) ** (2 / 3) / weight ** (1 / 3)
            Λ = max(Λ, logarithm(columns, B, share, points))
    return 36 * γ**3 / ε**2 * Λ


def head_blocks(g):
    R, d = g["X.row2inf"] + g.get("P.row2inf", 0), g["d"]
    through = g["sigma.lipschitz"]
    H = int(g.get("H", 1))
    return H * [
        (d, g["W_v.col2inf"], through * R),
        (d, g["W_QK.col2inf"], 2 * through * g["W_v.op"] * R**3),
    ]


def deep_blocks(g):
    σ, B_c, B_v, d, k = g["sigma.lipschitz"], g["W_c.op"], g["W_v.op"], g["d"], g["k"]
    R, L, B_w = g["X.row2inf"], int(g["L"]), g["w.l2"]
    blocks = [(1, B_w, 1.0)]
    for i in range(L):
        radius = R if i == 0 else 1.0
        α = B_w * (σ * B_c * B_v * (1 + 4 * g["W_QK.op"])) ** (L - 1 - i)
        blocks += [
            (d, g["W_c.col2inf"], α * σ),
            (d, g["W_QK.row2inf"], α * 2 * σ * B_c * B_v * radius**3),
            (k, g["W_v.col2inf"], α * σ * B_c * radius),
        ]
    return blocks


def norms(rng, names):
    """Spectral norms of order 1, and column norms below them."""
    bounds = {}
    for name in names:
        bounds[f"{name}.op"] = float(10 ** rng.uniform(-0.5, 0.5))
        bounds[f"{name}.col2inf"] = bounds[f"{name}.op"] * float(rng.uniform(0.3, 1))
    return bounds


@pytest.mark.parametrize("id", HEADS)
def test_one_head_is_the_repaired_closed_form(id):
    """At most the closed form (1% for the table of resolutions), and within a factor of two."""
    rng = np.random.default_rng(2)
    for _ in range(25):
        g = dict(OURS[id].example) | norms(rng, ["W_v"])
        g |= {"d": 8, "n": 2.0 ** rng.integers(3, 20), "T": float(rng.integers(2, 500))}
        g |= {
            "X.row2inf": float(rng.uniform(0.3, 3)),
            "sigma.lipschitz": float(rng.uniform(0.5, 2)),
        }
        g |= {"W_QK.col2inf": float(rng.uniform(0.1, 3)), "W_v.row2inf": g["W_v.op"]}
        g["epsilon"] = 0.02 * g["X.row2inf"] * g["W_v.op"] * g["sigma.lipschitz"]
        closed = repaired(head_blocks(g), g["epsilon"], g["n"] * g["T"])
        log_cover = math.exp(log_value(id, g))
        assert closed / 2 <= log_cover <= 1.01 * closed


def test_the_deep_network_is_the_repaired_closed_form():
    """At most the closed form (1% for the table), and within a factor of two."""
    rng = np.random.default_rng(3)
    id = "edelman2021/theorem-A.17"
    for _ in range(25):
        g = dict(OURS[id].example) | {"L": int(rng.integers(1, 4)), "k": 4}
        g |= {"n": 2.0 ** rng.integers(3, 20), "T": float(rng.integers(2, 500))}
        g |= {"X.row2inf": float(rng.uniform(1, 3)), "w.l2": float(rng.uniform(0.2, 5))}
        g["sigma.lipschitz"] = float(rng.uniform(0.5, 2))
        g["W_QK.op"], g["W_v.op"] = (float(x) for x in rng.uniform((0.1, 1), (2, 3)))
        g["W_c.op"] = float(rng.uniform(1, 3)) / g["sigma.lipschitz"]  # rows fill the unit ball
        for name in ("W_QK.row2inf", "W_v.col2inf", "W_c.col2inf"):  # op ≤ √columns·col2inf
            g[name] = g[name.partition(".")[0] + ".op"] * float(rng.uniform(0.51, 1))
        reach = sum(B * weight for _, B, weight in deep_blocks(g))
        # where the table of resolutions is fine, and below the output radius ‖w‖₂
        g["epsilon"] = min(reach * math.exp(-8), 0.9 * g["w.l2"])
        closed = repaired(deep_blocks(g), g["epsilon"], g["n"] * g["T"])
        log_cover = math.exp(log_value(id, g))
        assert closed / 2 <= log_cover <= 1.01 * closed


def test_the_simplified_theorem_is_the_full_one_at_equal_norms():
    g = dict(OURS["edelman2021/theorem-4.6"].example) | {"W.op": 0.7, "W.col2inf": 0.3, "L": 4}
    full = {
        n: g[n] for n in ("d", "L", "n", "T", "X.row2inf", "sigma.lipschitz", "w.l2", "epsilon")
    }
    full |= {"k": g["d"], "W_QK.op": 0.7, "W_v.op": 0.7, "W_c.op": 0.7}
    full |= {"W_QK.row2inf": 0.3, "W_v.col2inf": 0.3, "W_c.col2inf": 0.3}
    for form in ("derived", "best"):
        assert log_value(DEEP[1], g, form) == log_value(DEEP[0], full, form)


def test_unit_spectral_norms_do_not_remove_the_exponential():
    g = dict(OURS["edelman2021/theorem-4.6"].example)
    few, many = (log_value(DEEP[1], g | {"L": L}) for L in (5, 25))
    assert 2 * math.log(5) < (many - few) / 20 < 2 * math.log(5) + 0.2  # and its logarithm
    printed = [log_value(DEEP[1], g | {"L": L, "c.exponent": 10.0}, "printed") for L in (20, 22)]
    assert printed[0] == printed[1]
    flat = g | {"W_v.op": 1.0, "W_c.op": 1.0, "W_v.col2inf": 1.0, "W_c.col2inf": 1.0, "k": g["d"]}
    flat = {n: x for n, x in flat.items() if not n.startswith("W.")}
    few, many = (
        log_value(DEEP[0], flat | {"L": L, "W_QK.op": 1 / L, "W_QK.row2inf": 1 / L})
        for L in (8, 128)
    )
    assert many - few < 4 * math.log(128 / 8)  # scores of order 1/L: a power of L


def test_the_first_layer_costs_the_sixth_power_of_the_radius():
    g = dict(OURS["edelman2021/theorem-4.6"].example) | {"L": 1, "epsilon": 1e-6}
    logs = [log_value(DEEP[1], g | {"X.row2inf": R}) for R in (1e6, 1e7)]
    assert (logs[1] - logs[0]) / math.log(10) == pytest.approx(6, abs=0.3)


def cut_form(C, A, n):
    """min(A, 12√(C/n)(1 + log⁺(A√(n/C)/6)))."""
    root = math.sqrt(C / n)
    return min(A, 12 * root * (1 + max(0.0, math.log(A / root / 6))))


def test_dudleys_integral_is_the_cut_closed_form():
    """Equal to it; below it where C is so small that one element covers from ε < A/2 on."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        C, A, n = 10 ** rng.uniform(-3, 4), 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(0, 9)
        inputs = {"n": float(round(n)), "class.C": C, "class.radius": A}
        closed, integral = cut_form(C, A, round(n)), value("corollary-A.3", inputs)
        assert integral <= closed * (1 + 1e-11)
        assert integral == pytest.approx(closed, rel=1e-11) or A * A * math.log(2) / 4 > C
        assert integral <= A * (1 + 1e-12) and integral == value("lemma-A.2", inputs)
        assert integral <= 12 * value("lemma-A.2", inputs, "printed")  # the constant 12
        loss = {"delta": 0.1, "loss.lipschitz": 2.0, "loss.range": 3.0}
        drift = 3 * 3.0 * math.sqrt(math.log(2 / 0.1) / (2 * round(n)))
        gap = min(3.0, 2 * 2 * integral + drift)
        assert value("lemma-2.2", inputs | loss) == pytest.approx(gap)


def test_the_printed_integral_is_its_infimum():
    for C, A, n in ((1.0, 1.0, 100), (400.0, 1.0, 4), (3.0, 0.1, 7)):
        δ = A * np.exp(-np.linspace(0, 20, 200_001))
        brute = (δ + math.sqrt(C / n) * np.log(A / δ)).min()
        inputs = {"n": n, "class.C": C, "class.radius": A}
        assert value("lemma-A.2", inputs, "printed") == pytest.approx(brute, rel=1e-6)


def test_zhangs_lemma_and_the_calculus_agree():
    rng = np.random.default_rng(5)
    for _ in range(50):
        inputs = {"d": 8, "n": int(rng.integers(1, 10**6)), "w.l2": 10 ** rng.uniform(-1, 1)}
        inputs |= {"X.row2inf": 10 ** rng.uniform(-1, 1), "epsilon": 10 ** rng.uniform(-3, 0)}
        printed, derived = (value("lemma-A.10", inputs, form) for form in ("printed", "derived"))
        if inputs["epsilon"] >= inputs["w.l2"] * inputs["X.row2inf"]:
            assert derived == 0
        else:
            assert printed * (1 - 1e-9) <= derived <= 1.1 * printed


def test_lemma_4_5_is_zhang_by_columns():
    rng = np.random.default_rng(6)
    for _ in range(50):
        g = {"d": 32, "k": int(rng.integers(1, 40)), "n": int(rng.integers(2, 10**5))}
        g |= {"W.col2inf": 10 ** rng.uniform(-1, 1), "X.row2inf": 2.0}
        g["epsilon"] = g["W.col2inf"] * 2 * 10 ** rng.uniform(-3, -0.5)
        x = g["W.col2inf"] * 2 / g["epsilon"]
        low, high = (
            36 * (g["k"] * x) ** 2 * logarithm(g["k"], x, 1.0, points)
            for points in (g["n"], g["n"] + 1)  # the calculus may round the points up
        )
        assert low * (1 - 1e-9) <= value("lemma-4.5", g) <= high * (1 + 1e-9)


def test_allocation_is_the_minimum():
    rng = np.random.default_rng(7)
    for _ in range(20):
        C, β, ε = 10 ** rng.uniform(-2, 2, 2), 10 ** rng.uniform(-2, 2, 2), 10 ** rng.uniform(-2, 1)
        inputs = {"score.C": C[0], "inner.C": C[1], "score.weight": β[0], "inner.weight": β[1]}
        inputs |= {"epsilon": ε, "H": 2}
        parts = rng.dirichlet(np.ones(4), 5000) * ε  # β_i x_i of four blocks
        totals = (np.repeat(C * β**2, 2) / parts**2).sum(axis=1)
        least = value("lemma-A.8", inputs)
        assert least <= totals.min() * (1 + 1e-12)
        assert least == pytest.approx(value("lemma-A.8", inputs, "printed"))
        share = np.repeat(np.cbrt(C * β**2), 2)
        assert least == pytest.approx(
            (np.repeat(C * β**2, 2) / (ε * share / share.sum()) ** 2).sum()
        )


def test_theorem_4_2_is_its_infimum_over_alpha():
    rng = np.random.default_rng(8)
    α = np.linspace(0, 1, 100_001)[1:-1]
    for _ in range(20):
        g = {n: float(10 ** rng.uniform(-0.5, 1)) for n in ("score.C", "inner.C", "head.L_out")}
        g |= {n: float(rng.uniform(0.5, 2)) for n in ("head.B_in", "X.row2inf")}
        g |= {"attention.lipschitz": 2.0, "epsilon": 0.05}
        through = 2.0 * g["head.L_out"] * g["head.B_in"] * g["X.row2inf"]
        totals = g["score.C"] * (through / (α * 0.05)) ** 2
        totals += g["inner.C"] * (g["head.L_out"] / ((1 - α) * 0.05)) ** 2
        printed, derived = (value("theorem-4.2", g, form) for form in ("printed", "derived"))
        assert printed == pytest.approx(totals.min(), rel=1e-6)
        assert 0.99 * printed <= derived <= 1.01 * printed


def test_theorem_4_2_with_real_covers():
    """Zhang's covers of scores and values, split by the calculus: no α does much better."""
    covers = LinearMap((8, 1), Col2Inf(1.0)), LinearMap((8, 4), Col2Inf(0.5))
    score, inner = (c.entropy(rows=16).only(("zhang",)) for c in covers)
    head = GeneralHead(score, inner, C_norm=2.0, L_out=1.5, B_in=0.7, width=1)
    entropy = capacity(head, Tokens(1.2, 16, d=8), covers=("zhang",)).entropy(0.1, 256)
    α = np.linspace(0, 1, 4001)[1:-1]
    through = 2.0 * 1.5 * 0.7 * 1.2
    totals = score(α * 0.1 / through, 256) + inner((1 - α) * 0.1 / 1.5, 256)
    assert totals.min() * 0.99 <= entropy <= totals.min() * 1.01


# -- definitions -----------------------------------------------------------------------------------


def test_the_rademacher_complexity_of_linear_functionals_is_attained():
    n, R, B = 6, 1.3, 0.7
    signs = np.array(list(itertools.product([-1, 1], repeat=n)))
    rng = np.random.default_rng(9)
    formula = value("definition-A.1", {"n": n, "w.l2": B, "X.row2inf": R})
    for X, attained in ((R * np.eye(n), True), (rng.normal(size=(n, 3)), False)):
        X = X * np.minimum(1, R / np.linalg.norm(X, axis=1, keepdims=True))
        exact = B / n * np.linalg.norm(signs @ X, axis=1).mean()
        assert exact == pytest.approx(formula) if attained else exact < formula
    entropy = LinearMap((n, 1), Col2Inf(B)).entropy().scaled(R)
    chained = B * R * chain.complexity(entropy, math.log(B * R), np.array([math.log(n)]))[0]
    assert chained >= formula


def test_the_recalled_bound_is_one_on_the_logarithm():
    """On m orthonormal points all 2^m sign patterns w = Σ±e_i/√m are 2/√m apart."""
    m = 64
    patterns = np.array(list(itertools.product([-1, 1], repeat=4)))
    apart = np.abs(patterns[:, None] - patterns[None]).max(-1) + 9 * np.eye(16)
    assert apart.min() == 2
    inputs = {"d": m, "n": m, "w.l2": 1.0, "X.row2inf": 1.0, "epsilon": 0.99 / math.sqrt(m)}
    assert value("definition-2.1", inputs, "printed") < m * math.log(2)
    for form in ("derived", "best"):
        assert value("definition-2.1", inputs, form) >= m * math.log(2)


def test_the_radii_of_the_definitions():
    rng = np.random.default_rng(10)
    head = Head(4, Spectral(2.0), Spectral(3.0), W_c=Spectral(0.5), sigma="relu")
    radius = value("definition-3.2", {"X.row2inf": 1.0, "W_v.op": 2.0, "W_c.op": 0.5})
    largest = 0.0
    for _ in range(500):
        W = {n: spectral(rng.normal(size=(4, 4)), b) for n, b in
             (("W_v", 2.0), ("W_QK", 3.0), ("W_c", 0.5))}  # fmt: skip
        X = rng.normal(size=(3, 4)) * (rng.random() < 0.5) + rng.normal(size=4)
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        largest = max(largest, np.linalg.norm(head.apply(W, X), axis=1).max())
    assert 0.5 * radius < largest <= radius
    same = value("definition-3.1", {"head.L_out": 0.5, "head.B_in": 2.0, "X.row2inf": 1.0})
    assert same == pytest.approx(radius)


def spectral(W, size):
    return W * (size / np.linalg.norm(W, 2))
